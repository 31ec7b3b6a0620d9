"""The document of an exported program as graphs of nodes, checked as far as can be without
running it.

Source: `torch/_export/serde/schema.py`, versions 8.0 and later of the schema.
"""

from __future__ import annotations

from typing import Any

from texpr.pt2.json_reading import Json
from texpr.pt2.weights import TensorType, dtype_of_number, tensor_type
from texpr.support.errors import CheckpointError
from texpr.support.frozen_dataclass import frozen

SCHEMA = 8
"""The major version that is read."""
MOST_NODES = 1_000_000
DEEPEST = 16
"""Nesting depth of graphs, and of containers of arguments."""


@frozen
class Name:
    """A value of the program: a tensor, a size, or a number that is computed from sizes."""

    name: str


@frozen
class Node:
    """A call of an operator.

    Attributes:
        target: as PyTorch writes it, such as `torch.ops.aten.relu.default`.
        arguments: by name, or by their place where they have none; values are `Name`, constants,
            `Graph`, or lists of them.
        outputs: names; None for those that nobody asks for, lists for lists of tensors.
        module: the class and name of the PyTorch module that it comes from, or nothing.
    """

    target: str
    arguments: tuple[tuple[str, Any], ...]
    outputs: tuple[Any, ...]
    module: str

    @property
    def operator(self) -> str:
        """The target without the words before its name."""
        return self.target.removeprefix("torch.ops.").removeprefix("aten.")

    @property
    def names(self) -> list[str]:
        """The names of its outputs, those of lists too."""
        flat = [v for o in self.outputs for v in (o if isinstance(o, list) else [o])]
        return [v for v in flat if isinstance(v, str)]

    def __str__(self) -> str:
        of = f" of {self.module}" if self.module else ""
        given = [n for n in self.outputs if isinstance(n, str)]
        return f"{self.operator}{f', which gives {given[0]},' if given else ''}{of}"


@frozen
class Graph:
    """Nodes in order.

    Attributes:
        inputs: names; constants where an argument was a number.
        outputs: names, constants, lists.
        types: of tensors, by name.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    nodes: tuple[Node, ...]
    types: dict[str, TensorType]

    def all_nodes(self) -> list[Node]:
        """Its nodes, and those of graphs that are arguments of them."""
        inner = [a for n in self.nodes for _, a in n.arguments if isinstance(a, Graph)]
        return [*self.nodes, *(n for g in inner for n in g.all_nodes())]


@frozen
class Input:
    """An input of the program.

    Attributes:
        kind: parameter, buffer, tensor_constant, user_input or constant_input.
        arg: its name in the graph, a constant of the call for constant_input.
        named: the name of the parameter, buffer, or constant.
        persistent: of a buffer: the module's state has it.
        place: for messages.
    """

    kind: str
    arg: Any
    named: str
    persistent: bool
    place: Json


@frozen
class Output:
    """An output of the program.

    Attributes:
        kind: user_output or buffer_mutation.
        arg: its name in the graph, or a constant.
        named: the buffer that takes the value.
    """

    kind: str
    arg: Any
    named: str


@frozen
class Nesting:
    """A container of arguments or results, or a value in it.

    Attributes:
        kind: leaf, tuple, list, dict, or the name of a class.
        keys: of a dict, or the names of fields.
    """

    kind: str
    keys: tuple[Any, ...]
    children: tuple[Nesting, ...]


@frozen
class ProgramText:
    """An exported program.

    Attributes:
        ranges: the least and the largest value of symbols of sizes; None for no limit.
        names: of the arguments of the PyTorch module's `forward`.
    """

    graph: Graph
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    ranges: dict[str, tuple[int | None, int | None]]
    arguments: Nesting
    results: Nesting
    names: tuple[str, ...]


def program_text(at: Json) -> ProgramText:
    """The program of a document.

    Raises:
        CheckpointError: something is missing, or of another form.
    """
    version = at["schema_version"]
    if version["major"].as_(int) != SCHEMA:
        raise version.refuse(f"version {version['major'].value} of the schema; version {SCHEMA} is read")
    module = at["graph_module"]
    signature, calls = module["signature"], list(module["module_call_graph"])
    whole = next((c["signature"] for c in calls if c["fqn"].value == ""), None)
    if whole is None:
        raise module["module_call_graph"].refuse("it has no entry for the whole module")
    names = whole.get("forward_arg_names")
    return ProgramText(
        _graph(module["graph"], 0),
        tuple(_input(i) for i in signature["input_specs"]),
        tuple(_output(o) for o in signature["output_specs"]),
        {k: (_limit(r, "min_val"), _limit(r, "max_val")) for k, r in at["range_constraints"].items()},
        _spec(whole["in_spec"]),
        _spec(whole["out_spec"]),
        () if names is None else tuple(n.as_(str) for n in names),
    )


def _limit(at: Json, key: str) -> int | None:
    found = at.get(key)
    return None if found is None else found.as_(int)


def _graph(at: Json, depth: int) -> Graph:
    if depth > DEEPEST:
        raise at.refuse(f"graphs are nested deeper than {DEEPEST}")
    if len(at["nodes"].as_(list)) > MOST_NODES:
        raise at["nodes"].refuse(f"more than {MOST_NODES:,} nodes")
    inputs = tuple(_argument(a, depth) for a in at["inputs"])
    nodes = tuple(_node(n, depth) for n in at["nodes"])
    known = {a.name for a in inputs if isinstance(a, Name)}
    for place, node in zip(at["nodes"], nodes):
        for name in node.names:
            if name in known:
                raise place.refuse(f"`{name}` has a value already")
            known.add(name)
    outputs = tuple(_argument(a, depth) for a in at["outputs"])
    return Graph(inputs, outputs, nodes, {n: tensor_type(t) for n, t in at["tensor_values"].items()})


def _node(at: Json, depth: int) -> Node:
    given = [(i["name"].as_(str) or str(k), _argument(i["arg"], depth)) for k, i in enumerate(at["inputs"])]
    stack = at["metadata"].as_(dict).get("nn_module_stack")
    last = stack.rpartition(";")[2].split(",") if isinstance(stack, str) else []
    module = f"{last[2].rpartition('.')[2]} `{last[1]}`" if len(last) == 3 and last[1] else ""
    return Node(at["target"].as_(str), tuple(given), tuple(_result(o) for o in at["outputs"]), module)


def _result(at: Json) -> Any:
    found = _argument(at, 0)
    names = [v.name if isinstance(v, Name) else v for v in found] if isinstance(found, list) else None
    return found.name if isinstance(found, Name) else names


_PLAIN = {"as_int": int, "as_bool": bool, "as_string": str, "as_operator": str}
_NAMED = ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float", "as_optional_tensor")
_IGNORED = ("as_none", "as_memory_format", "as_layout", "as_device")
_LISTS = {
    "as_tensors": "",
    "as_ints": "as_int",
    "as_floats": "as_float",
    "as_bools": "as_bool",
    "as_strings": "as_string",
    "as_sym_ints": "as_sym_int",
    "as_sym_bools": "as_sym_bool",
    "as_sym_floats": "as_sym_float",
    "as_optional_tensors": "as_optional_tensor",
    "as_int_lists": "as_ints",
    "as_float_lists": "as_floats",
    "as_nested_tensors": "as_tensors",
}


def _argument(at: Json, depth: int) -> Any:
    kind, value = at.one()
    return _of_kind(kind, value, depth)


def _of_kind(kind: str, at: Json, depth: int) -> Any:
    """An argument of one of the schema's kinds."""
    if kind in _PLAIN:
        return at.as_(_PLAIN[kind])
    if kind == "as_float":
        return float(at.number())
    if kind in _IGNORED:
        return None
    if kind == "as_scalar_type":
        return dtype_of_number(at)
    if kind in _NAMED:
        return _named(at, depth)
    if kind == "as_tensors":
        return [Name(t["name"].as_(str)) for t in at]
    if kind in _LISTS:
        return [_of_kind(_LISTS[kind], v, depth) for v in at]
    if kind == "as_graph":
        return _graph(at["graph"], depth + 1)
    raise at.refuse(f"an argument of kind `{kind}`, which is not read")


def _named(at: Json, depth: int) -> Any:
    """A name, or a value that stands in its place."""
    if "name" in at.as_(dict):
        return Name(at["name"].as_(str))
    kind, value = at.one()
    return Name(value.as_(str)) if kind == "as_name" else _of_kind(kind, value, depth)


def _input(at: Json) -> Input:
    kind, value = at.one()
    if kind not in ("parameter", "buffer", "tensor_constant", "user_input", "constant_input"):
        raise at.refuse(f"an input of kind `{kind}`, which is not read")
    if kind == "constant_input":
        return Input(kind, _argument(value["value"], 0), value["name"].as_(str), False, at)
    if kind == "user_input":
        return Input(kind, _argument(value["arg"], 0), "", False, at)
    persistent = kind == "buffer" and value["persistent"].as_(bool)
    return Input(kind, Name(value["arg"]["name"].as_(str)), value[f"{kind}_name"].as_(str), persistent, at)


def _output(at: Json) -> Output:
    kind, value = at.one()
    if kind == "user_output":
        return Output(kind, _argument(value["arg"], 0), "")
    if kind == "buffer_mutation":
        return Output(kind, Name(value["arg"]["name"].as_(str)), value["buffer_name"].as_(str))
    raise at.refuse(f"an output of kind `{kind}`, which is not read")


_CONTAINERS = {
    "builtins.tuple": "tuple",
    "builtins.list": "list",
    "builtins.dict": "dict",
    "collections.OrderedDict": "dict",
    "collections.defaultdict": "dict",
}


def _spec(at: Json) -> Nesting:
    """The nesting that a text says, a JSON document: `[1, {type, context, children_spec}]`."""
    inner = list(Json.of(at.as_(str), at.place.removesuffix(": ")))
    if len(inner) != 2 or inner[0].value != 1:
        raise at.refuse("it is no nesting of version 1")
    return _nesting(inner[1], 0)


def _nesting(at: Json, depth: int) -> Nesting:
    if depth > DEEPEST:
        raise at.refuse(f"containers are nested deeper than {DEEPEST}")
    children = tuple(_nesting(c, depth + 1) for c in at["children_spec"])
    if at["type"].value is None:
        return Nesting("leaf", (), ())
    kind: str = at["type"].as_(str)
    found = _CONTAINERS.get(kind, kind)
    keys = _keys(at["context"].value, len(children)) if found not in ("tuple", "list") else ()
    if found == "dict" and len(keys) != len(children):
        raise at["context"].refuse(f"{len(children)} values need as many keys")
    return Nesting(found, keys, children)


def _keys(context: Any, count: int) -> tuple[Any, ...]:
    """Names of the values in a container, where its context says them."""
    try:
        found = Json.of(context, "context").value if isinstance(context, str) else context
    except CheckpointError:
        return ()
    if isinstance(found, list) and len(found) == 2 and isinstance(found[1], list):
        found = found[1]  # of a defaultdict: the default comes first
    ok = isinstance(found, list) and len(found) == count and all(isinstance(k, str | int) for k in found)
    return tuple(found) if ok else ()
