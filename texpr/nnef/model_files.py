"""Files of a model, read and checked: the tree of its graph, inputs, variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from texpr.ir.dtypes import BOOL, DTYPES, I64, DType
from texpr.nnef.graph_evaluation import BUILT_IN, Quantization, find, names_of, refused
from texpr.nnef.graph_values import Known
from texpr.nnef.model_containers import Container, inside, opened
from texpr.nnef.operation_table import OPERATIONS
from texpr.nnef.syntax.graph_parser import MOST_CHARACTERS, parse_document
from texpr.nnef.syntax.graph_tree import Assignment, Call, Document, Fragment, Items, Literal, Name, Node
from texpr.nnef.tensor_files import HEADER, Header, array_of, read_header
from texpr.nnef.tensor_quantization import dequantized, read_quantization
from texpr.support.errors import CheckpointError, ResourceError
from texpr.support.source import Source

GRAPH, QUANTIZATION = "graph.nnef", "graph.quant"
MOST_ATTRIBUTE = 4096
"""Elements of a variable that is given as an attribute."""
DECLARING = ("external", "tract_core_external", "variable")
"""Operations that say what a graph is given."""
_STATISTICS = {"batch_normalization": ("mean", "variance")}


@dataclass
class Declaration:
    """An input.

    Attributes:
        shape: extents, or symbols of tract; 0 where any extent fits.
        dtype: None for that of the parameters.
    """

    shape: list[int | str]
    dtype: DType | None

    def __str__(self) -> str:
        dims = ", ".join("?" if d == 0 else str(d) for d in self.shape)
        return f"{self.dtype or 'scalar'}[{dims}]"


@dataclass
class Stored:
    """A variable.

    Attributes:
        role: a `parameter`; a `buffer`, which training does not change; an `attribute`, whose value
            programs depend on.
    """

    label: str
    value: Known
    role: str = "parameter"


@dataclass
class ModelFiles:
    """A model.

    Attributes:
        inputs: by name.
        variables: by the names that the graph gives to them.
    """

    document: Document
    inputs: dict[str, Declaration] = field(default_factory=dict)
    variables: dict[str, Stored] = field(default_factory=dict)
    quantization: Quantization | None = None


def read_model(path: str | os.PathLike[str]) -> ModelFiles:
    """A checked model.

    Raises:
        CheckpointError: it is damaged, or has operations that texpr does not have.
        ResourceError: it is larger than the limits.
        OSError: it cannot be read.
    """
    files = opened(path)
    graphs = [n for n in files.names() if n == GRAPH or n.endswith(f"/{GRAPH}")]
    if not graphs:
        raise CheckpointError(f"{files.place} has no file `{GRAPH}`", code="nnef")
    folder = min(graphs, key=len).removesuffix(GRAPH)
    document = parse_document(Source(f"{files.place}/{folder}{GRAPH}", _text(files, folder + GRAPH)))
    model = ModelFiles(document)
    if files.size(folder + QUANTIZATION) is not None:
        source = Source(f"{files.place}/{folder}{QUANTIZATION}", _text(files, folder + QUANTIZATION))
        known = [n.name for line in document.graph.body for n in names_of(line.target)]
        model.quantization = read_quantization(document, source, known)
    _check_operations(model)
    symbols = {w[1] for w in document.extensions if len(w) > 1 and w[0] in ("tract_symbol", "tract_symbols")}
    symbols |= {x for w in document.extensions if len(w) > 2 and w[0] == "tract_symbols" for x in w[2:]}
    asked = list(_declared(document, model, symbols))
    _read_variables(files, folder, asked, model)
    _set_roles(model)
    return model


def _text(files: Container, name: str) -> str:
    def check(_: bytes, size: int) -> None:
        if size > MOST_CHARACTERS:
            raise ResourceError(
                f"{files.place}/{name} has {size:,} bytes, the limit is {MOST_CHARACTERS:,}", code="nnef"
            )

    data = files.read(name, 0, check)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{files.place}/{name}, byte {error.start}: it is no text", code="nnef"
        ) from None


def calls_of(node: Any) -> Iterator[Call]:
    """All calls of an expression."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, Call):
            yield part
        for slot in getattr(part, "__slots__", ()):
            value = getattr(part, slot)
            inner = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            )
            stack += [v for v in inner if isinstance(v, Node)]


def _check_operations(model: ModelFiles) -> None:
    """Refuse operations that texpr does not have, all at once, and arguments that they do not take."""
    lacking: dict[str, tuple[int, Call, Source]] = {}
    seen: set[str] = set()
    document, held = model.document, model.quantization
    stack = [(document.graph.body, document.source)]
    if held is not None:
        stack.append(([Assignment(None, call) for call in held.calls.values()], held.source))
    while stack:
        body, source = stack.pop()
        for call in (c for line in body for c in calls_of(line.value)):
            fragment = find(document, call.name)
            if fragment is None and call.name in BUILT_IN:
                continue
            if fragment is None or (fragment.body is None and call.name not in (*OPERATIONS, *DECLARING)):
                count, first, place = lacking.get(call.name, (0, call, source))
                lacking[call.name] = (count + 1, first, place)
                continue
            _check_arguments(call, fragment, source)
            computed = call.name in OPERATIONS and fragment not in document.fragments
            if fragment.body is not None and not computed and fragment.name not in seen:
                seen.add(fragment.name)
                stack.append((fragment.body, fragment.source))
    if lacking:
        _, first, source = next(iter(lacking.values()))
        error = refused("the model needs operations that texpr does not have", first, source)
        error.notes = tuple(f"{n}: {k} call{'s' * (k > 1)}" for n, (k, _, _) in sorted(lacking.items()))
        error.help = "the reference page `NNEF operations` lists those that are read"
        raise error


def _check_arguments(call: Call, fragment: Fragment, source: Source) -> None:
    names = [p.name for p in fragment.parameters]
    if len(call.given) > len(names):
        raise refused(f"`{call.name}` takes {len(names)} arguments and got {len(call.given)}", call, source)
    for name in call.named:
        if name not in names:
            raise refused(f"`{call.name}` has no parameter `{name}`; it has {', '.join(names)}", call, source)
        if name in names[: len(call.given)]:
            raise refused(f"`{call.name}` gets `{name}` twice", call, source)


def _declared(
    document: Document, model: ModelFiles, symbols: set[str]
) -> Iterator[tuple[str, str, list[int], str, Call]]:
    """Variables that the graph declares: names, labels, shapes, types, places. Inputs are entered in the
    model on the way.
    """
    graph, source = document.graph, document.source
    known: set[str] = set()
    for line in graph.body:
        for part in names_of(line.target):
            if part.name in known:
                raise refused(f"`{part.name}` is defined twice", part, source)
            known.add(part.name)
        call, target = line.value, line.target
        inner = [c for c in calls_of(call) if c.name in DECLARING]
        if inner and (inner[0] is not call or not isinstance(target, Name)):
            raise refused(f"`{inner[0].name}` stands alone behind `=`", inner[0], source)
        if not inner:
            continue
        fragment = find(document, call.name)
        assert fragment is not None, "the standard and tract declare these"
        given = fragment.bound(call.given, call.named)
        if call.name == "variable":
            label = given.get("label")
            if not isinstance(label, Literal) or not isinstance(label.value, str):
                raise refused("a variable has a label in quotes", call, source)
            shape = _extents(given.get("shape"), set(), call, source)
            yield target.name, label.value, [n for n in shape if isinstance(n, int)], call.generic, call
        else:
            model.inputs[target.name] = Declaration(
                _extents(given.get("shape"), symbols, call, source), _input_type(call, given, source)
            )
    _check_ends(document, model, known)


def _check_ends(document: Document, model: ModelFiles, known: set[str]) -> None:
    graph = document.graph
    at = Literal(graph.span.start, graph.span.stop, 0)
    missing = [n for n in graph.inputs if n not in model.inputs]
    if missing:
        raise refused(f"the input `{missing[0]}` is no `external` of the graph", at, document.source)
    extra = [n for n in model.inputs if n not in graph.inputs]
    if extra:
        raise refused(f"`{extra[0]}` is external, and no input of the graph", at, document.source)
    lacking = [n for n in graph.outputs if n not in known]
    if lacking:
        raise refused(f"the output `{lacking[0]}` is never computed", at, document.source)
    if len(set(graph.inputs)) < len(graph.inputs):
        raise refused("an input comes twice", at, document.source)


def _extents(node: Any, symbols: set[str], call: Call, source: Source) -> list[int | str]:
    if not isinstance(node, Items):
        raise refused("the shape is an array of integers", call, source)
    found: list[int | str] = []
    for n in node.items:
        if isinstance(n, Name) and n.name in symbols:
            found.append(n.name)
        elif isinstance(n, Literal) and type(n.value) is int and 0 <= n.value < 1 << 62:
            found.append(n.value)
        else:
            raise refused("an extent of a shape is an integer", n, source)
    return found


def _input_type(call: Call, given: dict[str, Any], source: Source) -> DType | None:
    word = given.get("datum_type")
    if isinstance(word, Literal):
        name = "i64" if word.value == "tdim" else str(word.value)
        if name not in DTYPES:
            raise refused(f"an input of type `{word.value}`", word, source)
        return DTYPES[name]
    return {"integer": I64, "logical": BOOL}.get(call.generic)


def _read_variables(files: Container, folder: str, asked: list[Any], model: ModelFiles) -> None:
    """Read the files of variables, in the order in which they lie in the archive."""
    source = model.document.source
    labels: dict[str, list[int]] = {}
    for _, label, shape, _, call in asked:
        if not inside(label):
            raise refused(f"the label {label!r} leads outside of the model", call, source)
        if labels.setdefault(label, shape) != shape:
            raise refused(f"the label `{label}` is given twice, with several shapes", call, source)
        if files.size(f"{folder}{label}.dat") is None:
            raise refused(f"`{label}.dat`, the file of a variable, is not there", call, source)
    values: dict[str, Stored] = {}
    for name, label, shape, generic, call in sorted(
        asked, key=lambda a: files.place_of(f"{folder}{a[1]}.dat")
    ):
        if label not in values:
            held = _tensor(files, f"{folder}{label}.dat", shape, generic, call, model, name)
            values[label] = Stored(label, held)
    model.variables = {name: values[label] for name, label, *_ in asked}


def _tensor(
    files: Container, name: str, shape: list[int], generic: str, call: Call, model: ModelFiles, variable: str
) -> Known:  # fmt: skip
    held: list[Header] = []
    source, quantization = model.document.source, model.quantization
    entry = quantization.calls.get(variable) if quantization is not None else None

    def check(start: bytes, size: int) -> None:
        header = read_header(start, size, f"{files.place}/{name}")
        if list(header.shape) != shape:
            raise refused(
                f"the variable has shape {shape}, its file `{name}` {list(header.shape)}", call, source
            )
        if header.quantized and entry is None:
            error = refused(f"its file `{name}` holds quantized integers", call, source)
            error.help = f"an entry of `{QUANTIZATION}` says what they stand for"
            raise error
        held.append(header)

    data = files.read(name, HEADER.size, check)
    array = array_of(held[0], data)
    if generic == "integer" and array.dtype.kind == "f" or generic == "logical" and array.dtype != np.bool_:
        raise refused(f"a variable of {generic} values, whose file `{name}` has {array.dtype}", call, source)
    if entry is not None and quantization is not None and array.dtype.kind in "iu":
        array = dequantized(array, entry, model.document, quantization.source)
    return Known.of(array)


def _set_roles(model: ModelFiles) -> None:
    """Variables that are updated, or given to parameters of operations that training leaves alone."""
    document = model.document
    for call in (c for line in document.graph.body for c in calls_of(line.value)):
        fragment = find(document, call.name)
        if fragment is None:
            continue
        given = fragment.bound(call.given, call.named)
        for p in fragment.parameters:
            for name in _variables(given.get(p.name), model):
                stored = model.variables[name]
                if not p.takes_tensor and not p.type.startswith("?"):
                    if stored.value.array.size > MOST_ATTRIBUTE:
                        raise refused(
                            f"`{p.name}` of `{call.name}` is an attribute of at most {MOST_ATTRIBUTE:,} numbers",
                            call,
                            document.source,
                        )
                    stored.role = "attribute"
                elif p.name in _STATISTICS.get(call.name, ()) or (call.name, p.name) == (
                    "update",
                    "variable",
                ):
                    stored.role = "buffer" if stored.role == "parameter" else stored.role


def _variables(node: Any, model: ModelFiles) -> Iterator[str]:
    if isinstance(node, Name) and node.name in model.variables:
        yield node.name
    elif isinstance(node, Items):
        for n in node.items:
            yield from _variables(n, model)
