"""A graph of ONNX becomes a part of a captured program, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Capture, Symbolic, Variable
from texpr.graph.execution.constant_values import constant_values
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.onnx.converters import draws, find
from texpr.onnx.element_types import FROM_ONNX, name_of
from texpr.onnx.kept_nodes import Keeping
from texpr.onnx.narrow_types import Narrow
from texpr.onnx.onnx_package import library
from texpr.onnx.read import array_of, definition, dense, opsets
from texpr.onnx.text_values import Texts
from texpr.onnx.validation import check_node, type_of
from texpr.onnx.values import Known, NeedsValue, Value, is_known, numbered, tensor_of
from texpr.support.errors import CallError, CheckpointError, Error, ResourceError

MOST_RUN = 20_000
"""Nodes and graphs that a program may come from, every pass of a loop counted."""
DEEPEST_RUN = 48
"""Nesting depth of running graphs, those of functions and of branches."""


@dataclass(slots=True)
class Node:
    """A node while it is converted.

    Attributes:
        inputs: its inputs as a converter takes them; None for those that are absent.
        versions: of the operator sets, by domain.
        outputs: the names of its outputs, empty for those that nobody asks for.
    """

    proto: Any
    run: Run
    values: Sequence[Value]
    versions: Mapping[str, int]
    names: dict[str, Value]

    @property
    def op(self) -> str:
        return self.proto.op_type

    @property
    def version(self) -> int:
        """Of the node's operator set."""
        return self.versions.get("" if self.proto.domain == "ai.onnx" else self.proto.domain, 1)

    @property
    def outputs(self) -> Sequence[str]:
        return self.proto.output

    def has(self, name: str) -> bool:
        """True if an attribute is given."""
        return any(a.name == name for a in self.proto.attribute)

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: numbers, lists of them, texts, `Known` for tensors,
        onnx.GraphProto.
        """
        for a in self.proto.attribute:
            if a.name == name:
                value = library().helper.get_attribute_value(a)
                if a.HasField("t"):
                    return array_of(value)
                if isinstance(value, bytes):
                    return value.decode("utf-8", "replace")
                if isinstance(value, int | float) or hasattr(value, "DESCRIPTOR"):
                    return value
                return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
        return default

    def word(self, name: str, default: str, *others: str) -> str:
        """A text attribute that is one of a few words.

        Raises:
            CallError: it is another one.
        """
        found = self.attr(name, default)
        if found not in (default, *others):
            raise self.refuse(f"{name} is `{found}`; {', '.join((default, *others))} are read")
        return found

    def dtype(self, name: str, default: int = 1) -> DType:
        """The element type that an attribute says, or `default`, by ONNX's number.

        Raises:
            CallError: one that texpr does not have.
        """
        number = self.attr(name, 0) or default
        if number not in FROM_ONNX:
            raise self.refuse(f"{name} is {name_of(number)}, which texpr does not have")
        return FROM_ONNX[number]

    def order(self) -> float:
        """The `p` of a p-norm.

        Raises:
            CallError: it is not above 0.
        """
        p = float(self.attr("p", 2))
        if not p > 0:
            raise self.refuse(f"p is {p:g}; a norm has one above 0")
        return p

    def known(self, k: int) -> Any:
        """The numbers of an input, which the program depends on; None where it is absent.

        Raises:
            NeedsValue: they are not known yet.
        """
        value = self.values[k] if k < len(self.values) else None
        if value is None:
            return None
        if isinstance(value, Known):
            return value.numbers()
        raise NeedsValue(*self.run.origins(value), f"input {k} of {self.op}")

    def one(self, k: int, default: Any = None) -> Any:
        """The one number of an input, which the program depends on; `default` where the input is
        absent.

        Raises:
            CallError: it has more, or none.
        """
        found = self.known(k)
        if found is None:
            return default
        if found.size != 1:
            raise self.refuse(f"input {k} has {found.size} elements, expected 1")
        return np.ravel(found)[0]

    def ints(self, k: int, attribute: str = "") -> Any:
        """Integers that older versions have as an attribute and newer ones as an input."""
        if attribute and self.has(attribute):
            given = self.attr(attribute)
            return list(given) if isinstance(given, list) else [given]
        found = self.known(k)
        return None if found is None else [int(v) for v in np.ravel(found)]

    def axis(self, given: int, rank: int) -> int:
        """The number of an axis, which counts from the end where it is negative.

        Raises:
            CallError: it is outside of the axes that there are.
        """
        if not -rank <= given < rank:
            raise self.refuse(f"axis {given} of {rank}")
        return given % rank

    def refuse(self, message: str) -> CallError:
        """An error that names the node."""
        return CallError(f"{self.op}: {message}", code="onnx")


class Run:
    """The nodes of a model in one capture.

    Attributes:
        capture: what the operators are recorded by.
        inputs: the model's inputs that are not known, by their tensors in the capture.
        seeds: of random numbers, by the attribute `seed` of nodes; None for nodes without one.
    """

    def __init__(
        self,
        model: Any,
        capture: Capture,
        inputs: Mapping[Tensor, str] | None = None,
        seeds: Mapping[float | None, Variable] | None = None,
    ) -> None:
        self.model, self.capture, self.inputs, self.seeds = model, capture, inputs or {}, seeds or {}
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.count = self.depth = 0
        self._constants: dict[int, tuple[Known, Symbolic]] = {}

    def tensor(self, value: Value) -> Any:
        """A value as converters take it: constants as tensors of the program."""
        if isinstance(value, Known):
            if id(value) not in self._constants:
                self._constants[id(value)] = (
                    value,
                    self.capture.constant(value.array, "constant", value.dtype),
                )
            return self._constants[id(value)][1]
        if isinstance(value, Narrow):
            return Narrow(self.tensor(value.tensor), value.dtype)
        return [self.tensor(v) for v in value] if isinstance(value, list) else value

    def seed(self, stream: float | None) -> Symbolic:
        """A seed that no other use of a stream has."""
        variable = self.seeds[stream]
        found = self.capture.latest(variable)
        self.capture.assign(variable, ops.next_seed(found))  # type: ignore[arg-type]
        if isinstance(self.capture, Keeping):
            self.capture.seeds.add(variable)
        return found

    def origins(self, value: Value) -> tuple[list[str], list[str]]:
        """Names of the model's inputs, and of its parameters, that a tensor is computed from."""
        value = tensor_of(value)
        if not isinstance(value, Symbolic):
            return [], []
        reached = self.capture.reached(value.tensor)
        return (
            [name for t, name in self.inputs.items() if t in reached],
            [v.name for v, t in self.capture.variables.items() if t in reached],
        )

    def graph(self, graph: Any, given: Mapping[str, Value], versions: Mapping[str, int]) -> list[Value]:
        """The outputs of a graph.

        Args:
            given: the values of all names that it may use: inputs, initializers that are
                parameters, names of the graphs around it.
        """
        names: dict[str, Value] = dict(given)
        for t in graph.initializer:
            if t.name not in names:
                names[t.name] = array_of(t)
        for t in graph.sparse_initializer:
            names.setdefault(t.values.name, dense(t))
        self.nodes(graph.node, names, versions)
        lacking = [output.name for output in graph.output if output.name not in names]
        if lacking:
            raise CheckpointError(
                f"the graph `{graph.name}` gives `{lacking[0]}`, which nothing computes", code="onnx"
            )
        return [names[output.name] for output in graph.output]

    def nodes(self, nodes: Sequence[Any], names: dict[str, Value], versions: Mapping[str, int]) -> None:
        """Compute nodes in order; `names` gets their outputs."""
        self.count += 1
        self.depth += 1
        if self.depth > DEEPEST_RUN:
            raise ResourceError(
                f"functions and subgraphs run deeper than {DEEPEST_RUN} in each other", code="onnx"
            )
        for proto in nodes:
            self.count += 1
            if self.count > MOST_RUN:
                raise ResourceError(
                    f"more than {MOST_RUN:,} nodes of the model run; loops are unrolled", code="onnx"
                )
            results = self._node(proto, names, versions)
            if len(results) < len(proto.output) and any(proto.output[len(results) :]):
                raise CallError(
                    f"{proto.op_type}: it gives {len(results)} outputs, and {len(proto.output)} are asked "
                    f"for",
                    code="onnx",
                )
            names.update((name, value) for name, value in zip(proto.output, results) if name)
        self.depth -= 1

    def _node(self, proto: Any, names: dict[str, Value], versions: Mapping[str, int]) -> Sequence[Value]:
        try:
            return self._converted(
                Node(proto, self, [names[n] if n else None for n in proto.input], versions, names)
            )
        except NeedsValue:
            raise
        except Error as error:
            named = (
                f"node `{proto.name}`, {proto.op_type}"
                if proto.name
                else f"{proto.op_type}, which gives {', '.join(proto.output)}"
            )
            where = f"in {named}"
            error.notes = (*error.notes, where)
            raise

    def _converted(self, node: Node) -> Sequence[Value]:
        proto = node.proto
        function = self.functions.get((proto.domain, proto.op_type))
        if function is not None:
            return self.function(function, node)
        found = find(proto.domain, proto.op_type)
        check_node(proto, node.version, node.values, node.versions, found is None or found.inferred)
        if found is None:
            return self._kept(node, self._defined(node))
        if not found.texts and any(isinstance(v, Texts) for v in node.values) and proto.op_type not in ON_ALL:
            return self._of_texts(node, found.convert)
        if found.control:
            results = _outputs(found.convert(node, *node.values))
            return self._kept(node, results) if draws(proto) else results
        convert = found.convert
        if not found.narrow and any(isinstance(v, Narrow) for v in node.values):
            convert = _of_bytes(node, convert)
        if all(map(is_known, node.values)):
            return self._folded(node, convert)
        return self._kept(node, _outputs(convert(node, *map(self.tensor, node.values))), not found.known)

    def _kept(self, node: Node, results: Sequence[Value], fixed: bool = True) -> Sequence[Value]:
        """The results of a node, which a capture that keeps nodes remembers."""
        if isinstance(self.capture, Keeping):
            self.capture.keep(node.proto, node.version, node.values, results, fixed)
        return results

    def _folded(self, node: Node, convert: Any) -> Sequence[Value]:
        """The outputs of a node of constants, computed now."""
        inner = Run(self.model, Capture("constants"))
        node.run = inner
        with inner.capture:
            results = _outputs(convert(node, *map(inner.tensor, node.values)))
        bare: list[Any] = [tensor_of(r) for r in results]
        values = iter(evaluated(inner.capture, [b for b in bare if isinstance(b, Symbolic)]))
        bare = [next(values) if isinstance(b, Symbolic) else b for b in bare]
        return [Narrow(b, r.dtype) if isinstance(r, Narrow) else b for r, b in zip(results, bare)]

    def _of_texts(self, node: Node, convert: Any) -> Sequence[Value]:
        """The outputs of a node that compares or moves texts: numbers stand for them."""
        if node.op not in (*_MOVES_TEXTS, "Equal") or node.proto.domain not in ("", "ai.onnx"):
            raise node.refuse("elements are texts; few operators have them, at the time a program is made")
        numbers, words = numbered(node.values)
        if not all(map(is_known, numbers)):
            raise node.refuse("texts are moved by what is known when a program is made")
        found = self._folded(Node(node.proto, self, numbers, node.versions, node.names), convert)
        if node.op == "Equal":
            return found
        return [Texts(words[y.array]) for y in found if isinstance(y, Known)]

    def function(self, function: Any, node: Node) -> Sequence[Value]:
        """The outputs of a node that a function defines."""
        names: dict[str, Value] = dict(zip(function.input, [*node.values, *[None] * len(function.input)]))
        attributes = {a.name: a for a in (*function.attribute_proto, *node.proto.attribute)}
        versions = {**node.versions, **opsets(function)}
        self.nodes([_filled(n, attributes) for n in function.node], names, versions)
        return [names.get(n) for n in function.output]

    def _defined(self, node: Node) -> Sequence[Value]:
        """The outputs of a node by ONNX's own definition of its operator."""
        onnx, proto = library(), node.proto
        schema = definition(onnx, proto.domain, proto.op_type, node.version)
        if schema is None:
            raise node.refuse("texpr does not have it")
        if schema.has_function:
            body = schema.function_body
        else:
            types = [type_of(v).SerializeToString() for v in node.values]
            body = onnx.FunctionProto()
            body.ParseFromString(schema.get_context_dependent_function(proto.SerializeToString(), types))
        missing = [a for a in schema.attributes.values() if a.default_value.name and not node.has(a.name)]
        completed = type(proto)()
        completed.CopyFrom(proto)
        completed.attribute.extend([a.default_value for a in missing])
        node.proto = completed
        return self.function(body, node)


ON_ALL = {"Identity", "Shape", "Size", "If", "Loop", "Optional", "OptionalGetElement", "OptionalHasElement"}
"""Operators that ask nothing of elements, so that texts may be among them."""
_MOVES_TEXTS = {
    "Compress", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Reshape", "Slice",
    "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip
"""Operators whose outputs are elements of their inputs, chosen by other inputs."""
_MOVED = {"Identity", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Pad"}
"""Operators that take narrow types and compute nothing."""


def _of_bytes(node: Node, convert: Any) -> Any:
    """A converter of tensors whose elements are moved, for those of a narrow type."""
    if node.op not in _MOVED:
        raise node.refuse(f"elements of {next(v.dtype for v in node.values if isinstance(v, Narrow))}")
    kind = next(v.dtype for v in node.values if isinstance(v, Narrow))

    def converted(node: Node, *values: Any) -> Any:
        results: Any = _outputs(convert(node, *map(tensor_of, values)))
        return tuple(Narrow(r, kind) for r in results)

    return converted


def _outputs(results: Any) -> Sequence[Value]:
    return results if isinstance(results, tuple) else (results,)


def _filled(node: Any, attributes: Mapping[str, Any]) -> Any:
    """A node of a function with the attributes that it takes from the call."""
    if not any(a.ref_attr_name for a in node.attribute) and not any(a.HasField("g") for a in node.attribute):
        return node
    made = type(node)()
    made.CopyFrom(node)
    del made.attribute[:]
    for a in node.attribute:
        if a.ref_attr_name:
            if a.ref_attr_name in attributes:
                added = made.attribute.add()
                added.CopyFrom(attributes[a.ref_attr_name])
                added.name = a.name
            continue
        added = made.attribute.add()
        added.CopyFrom(a)
        if a.HasField("g"):
            inner = [_filled(n, attributes) for n in a.g.node]
            del added.g.node[:]
            added.g.node.extend(inner)
    return made


def evaluated(capture: Capture, results: Sequence[Symbolic]) -> list[Known]:
    """The values of results that depend on constants and variables alone."""
    if not results:
        return []
    results = [capture.own_result(r) for r in results]
    values = constant_values(capture, results)
    return [Known(np.asarray(values[r.tensor]), r.tensor.dtype) for r in results]
