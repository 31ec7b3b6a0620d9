"""The statements of a graph become calls in a program that is captured: arrays and conditions of the
language are evaluated on the way, fragments are replaced by what they are defined by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from texpr.graph import Capture, Symbolic
from texpr.ir.dtypes import BOOL, F32, I64, DType
from texpr.nnef.graph_values import Known, Value, evaluated, leaves, literal_tensor
from texpr.nnef.language_arithmetic import binary, repeated, unary
from texpr.nnef.operation_declarations import STANDARD, TRACT, declared
from texpr.nnef.operation_table import OPERATIONS, Operation
from texpr.nnef.syntax.graph_tree import (
    Assignment,
    Binary,
    Call,
    Choice,
    Comprehension,
    Document,
    Fragment,
    Items,
    Literal,
    Name,
    Node,
    Part,
    Subscript,
    Unary,
)
from texpr.support.errors import CallError, CheckpointError, Error, ResourceError
from texpr.support.frozen_dataclass import frozen
from texpr.support.source import Source, Span

MOST_CALLS = 200_000
"""Of operations in a program, those of fragments counted."""
DEEPEST_CALL = 48
"""Nesting depth of fragments."""
MOST_ITEMS = 1 << 20
"""Of an array of the language, and steps of `for`."""
MOST_ITEMS_TOGETHER = 1 << 24
"""Of all arrays of the language that a graph makes: as many as the longest text can write."""
_OPERATIONS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "^": "pow",
    "<": "lt",
    ">": "gt",
    "<=": "le",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
    "&&": "and",
    "||": "or",
}
_UNARY = {"-": "neg", "+": "copy", "!": "not"}
BUILT_IN = frozenset({"length_of", "range_of", "shape_of", "integer", "scalar", "logical", "string"})
"""Functions of the language itself, besides operations."""


def find(document: Document, name: str) -> Fragment | None:
    """The declaration of an operation: a file's own first, then the standard's, then tract's."""
    own = next((f for f in document.fragments if f.name == name and f.body is not None), None)
    return own or declared(STANDARD).get(name) or declared(TRACT).get(name)


@frozen
class Quantization:
    """A file `graph.quant`.

    Attributes:
        calls: by the names of tensors, operations that round these; the tensor is not among the arguments.
    """

    source: Source
    calls: Mapping[str, Call]


class Evaluation:
    """A graph in one capture.

    Attributes:
        given: values of `external` and `variable`, by the name that is assigned, and of symbols.
        float_type: the dtype that `scalar` stands for.
        quantization: of tensors, but for variables: these have the values that are stored.
        tract: the file uses tract's extensions. There filters of `deconv` begin with outputs, pools of
            maxima never see what is around a tensor, and `round` takes halves away from 0.
        fragments: those that were found, by name.
    """

    def __init__(
        self,
        document: Document,
        capture: Capture,
        given: Mapping[str, Value],
        float_type: DType = F32,
        quantization: Quantization | None = None,
    ) -> None:
        self.quantization = quantization
        self.document, self.capture, self.given, self.float_type = document, capture, given, float_type
        self.tract = any(words[0] == "tract_registry" for words in document.extensions)
        self.fragments = {f.name: f for f in document.fragments if f.body is not None}
        self.calls = self.depth = self.items = self.steps = 0

    def results(self) -> list[Value]:
        """The values of the graph's outputs."""
        graph, names, source = self.document.graph, dict(self.given), self.document.source
        for name in graph.inputs:
            self._round(name, names)
        for line in graph.body:
            target = line.target
            if isinstance(target, Name) and target.name in self.given:
                continue
            try:
                self._body([line], names, source)
                for part in names_of(target):
                    self._round(part.name, names)
            except RecursionError:
                raise ResourceError(
                    "expressions and fragments are nested too deep",
                    Span(source, target.start, target.stop),
                    code="nnef",
                    help="give parts of the expression names of their own",
                ) from None
        return [names[n] for n in graph.outputs]

    def _round(self, name: str, names: dict[str, Value]) -> None:
        """A tensor that `graph.quant` names gets the values that it says."""
        held = self.quantization
        if held is None or name not in held.calls:
            return
        value, call = names[name], held.calls[name]
        if not isinstance(value, Symbolic | Known) or not value.dtype.is_float:
            raise refused(f"`{name}` is no tensor of floats", call, held.source)
        fragment = self.fragment(call.name, call, held.source)
        types = {p.name: p.type for p in fragment.parameters if p.takes_tensor}
        named = {k: self.value(n, {}, held.source) for k, n in call.named.items()}
        for k, v in named.items():
            if k in types and isinstance(v, list):  # arrays stand for tensors in this file alone
                try:
                    named[k] = literal_tensor(v, None if types[k] == "tensor<integer>" else value.dtype)
                except CallError as error:
                    raise refused(error.message, call.named[k], held.source) from None
        names[name] = self._called(call, fragment, [value], named, held.source)

    def _body(self, body: Sequence[Assignment], names: dict[str, Value], source: Source) -> None:
        for line in body:
            self._assign(line.target, self.value(line.value, names, source), names, source)

    def _assign(self, target: Any, value: Any, names: dict[str, Value], source: Source) -> None:
        if isinstance(target, Name):
            names[target.name] = value
            return
        if not isinstance(value, list | tuple) or len(value) != len(target.items):
            count = f"{len(value)} values" if isinstance(value, list | tuple) else "one value"
            raise refused(f"{len(target.items)} names for {count}", target, source)
        for inner, item in zip(target.items, value):
            self._assign(inner, item, names, source)

    def value(self, node: Any, names: dict[str, Value], source: Source) -> Any:
        """The value of an expression."""
        match node:
            case Literal():
                return node.value
            case Name():
                return _named(node, names, source)
            case Items():
                items = [self.value(n, names, source) for n in node.items]
                return self._counted(tuple(items) if node.is_tuple else items, node, source)
            case Call():
                return self._call(node, names, source)
            case Choice():
                chosen = self._truth(node.condition, names, source)
                return self.value(node.yes if chosen else node.no, names, source)
            case Comprehension():
                return self._comprehension(node, names, source)
            case Subscript() | Part():
                return self._items_of(node, names, source)
            case Unary():
                return self._unary(node, names, source)
        return self._binary(node, names, source)

    def _counted(self, found: Any, node: Any, source: Source) -> Any:
        """A value that was made; items of arrays and characters of texts count."""
        if isinstance(found, list | tuple | str):
            self.items += len(found)
        if self.items > MOST_ITEMS_TOGETHER:
            raise refused(f"arrays of more than {MOST_ITEMS_TOGETHER:,} items, all counted", node, source)
        return found

    def _truth(self, node: Any, names: dict[str, Value], source: Source) -> bool:
        found = plain(self.value(node, names, source))
        if not isinstance(found, bool):
            raise refused("a condition is true or false", node, source)
        return found

    def _unary(self, node: Unary, names: dict[str, Value], source: Source) -> Any:
        x = self.value(node.x, names, source)
        if isinstance(x, Symbolic | Known):
            return self.operation(_UNARY[node.operator], "", {"x": x}, node, source)
        return unary(node, x, source)

    def _binary(self, node: Binary, names: dict[str, Value], source: Source) -> Any:
        x, y = self.value(node.x, names, source), self.value(node.y, names, source)
        if node.operator in _OPERATIONS and any(isinstance(v, Symbolic | Known) for v in (x, y)):
            return self.operation(_OPERATIONS[node.operator], "", {"x": x, "y": y}, node, source)
        if node.operator == "*" and isinstance(x, list):
            return self._counted(repeated(node, x, plain(y), MOST_ITEMS, source), node, source)
        return self._counted(binary(node, x, y, MOST_ITEMS, source), node, source)

    def _items_of(self, node: Subscript | Part, names: dict[str, Value], source: Source) -> Any:
        of = self.value(node.of, names, source)
        if not isinstance(of, list | tuple | str):
            raise refused("only arrays, tuples and texts have items", node, source)
        bounds = [node.index] if isinstance(node, Subscript) else [node.first, node.last]
        places = [None if b is None else plain(self.value(b, names, source)) for b in bounds]
        if any(p is not None and (isinstance(p, bool) or not isinstance(p, int)) for p in places):
            raise refused("places of items are integers", node, source)
        if isinstance(node, Part):
            return self._counted(of[places[0] : places[1]], node, source)
        place = places[0]
        if not isinstance(place, int) or not -len(of) <= place < len(of):
            raise refused(f"item {place} of {len(of)}", node, source)
        return of[place]

    def _comprehension(self, node: Comprehension, names: dict[str, Value], source: Source) -> list[Value]:
        sources = [self.value(s, names, source) for s in node.sources]
        if not all(isinstance(s, list) for s in sources) or len({len(s) for s in sources}) > 1:
            raise refused("`for` goes through arrays of one length", node, source)
        found, inner = [], dict(names)
        for items in zip(*sources):
            self.steps += 1
            if self.steps > MOST_ITEMS:
                raise refused(f"more than {MOST_ITEMS:,} steps of `for`, all counted", node, source)
            inner.update(zip(node.names, items))
            if node.condition is None or self._truth(node.condition, inner, source):
                found.append(self.value(node.result, inner, source))
        return self._counted(found, node, source)

    def _call(self, node: Call, names: dict[str, Value], source: Source) -> Any:
        given = [self.value(n, names, source) for n in node.given]
        named = {k: self.value(n, names, source) for k, n in node.named.items()}
        if node.name in BUILT_IN and node.name not in self.fragments:
            return self._counted(_built_in(node, given, source), node, source)
        return self._called(node, self.fragment(node.name, node, source), given, named, source)

    def _called(
        self, node: Call, fragment: Fragment, given: list[Any], named: dict[str, Any], source: Source
    ) -> Any:
        """The results of an operation for these arguments, and defaults."""
        arguments = fragment.bound(given, named)
        for p in fragment.parameters:
            if p.name not in arguments:
                if p.default is None:
                    raise refused(f"`{node.name}` needs `{p.name}`", node, source)
                arguments[p.name] = self.value(p.default, {}, fragment.source)
        return self.operation(node.name, node.generic, arguments, node, source)

    def fragment(self, name: str, node: Node, source: Source) -> Fragment:
        """The declaration of an operation."""
        found = self.fragments.get(name) or find(self.document, name)
        if found is None:
            raise refused(f"there is no operation `{name}`", node, source)
        self.fragments[name] = found
        return found

    def operation(
        self, name: str, generic: str, arguments: dict[str, Any], node: Node, source: Source
    ) -> Any:
        """The results of an operation: one, or a tuple."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise ResourceError(f"the graph has more than {MOST_CALLS:,} operations", code="nnef")
        fragment = self.fragment(name, node, source)
        try:
            if fragment.body is not None and (name not in OPERATIONS or fragment in self.document.fragments):
                return self._defined(fragment, arguments, node, source)
            return self._converted(name, generic, fragment, arguments)
        except Error as error:
            if len(error.notes) < DEEPEST_CALL:
                error.notes = (*error.notes, f"in `{name}`, {Span(source, node.start, node.stop)}")
            raise

    def _defined(self, fragment: Fragment, arguments: dict[str, Any], node: Node, source: Source) -> Any:
        """The results of a fragment, by its body."""
        if self.depth >= DEEPEST_CALL:
            raise ResourceError(f"fragments are nested deeper than {DEEPEST_CALL}", code="nnef")
        self.depth += 1
        names: dict[str, Value] = dict(arguments)
        self._body(fragment.body or [], names, fragment.source)
        self.depth -= 1
        lacking = [r.name for r in fragment.results if r.name not in names]
        if lacking:
            raise refused(f"`{fragment.name}` never computes `{lacking[0]}`", node, source)
        found = tuple(names[r.name] for r in fragment.results)
        return found[0] if len(found) == 1 else found

    def named(self, name: str) -> Fragment:
        """A fragment of the file, for operations that run one.

        Raises:
            CallError: there is none of that name.
        """
        found = self.fragments.get(name)
        if found is None or found.body is None:
            raise CallError(f"there is no fragment `{name}`", code="nnef")
        return found

    def run(self, name: str, given: dict[str, Any]) -> tuple[Any, ...]:
        """The results of a fragment of the file.

        Raises:
            CallError: parameters that it does not have, or that lack values.
        """
        fragment = self.named(name)
        if set(given) != {p.name for p in fragment.parameters}:
            raise CallError(f"`{name}` does not take {', '.join(sorted(given))}", code="nnef")
        result = self._defined(fragment, given, Literal(0, 0, 0), fragment.source)
        return result if isinstance(result, tuple) and len(fragment.results) > 1 else (result,)

    def type_of(self, generic: str) -> DType:
        """The dtype that a word between `<` and `>` stands for."""
        return {"integer": I64, "logical": BOOL}.get(generic, self.float_type)

    def _converted(self, name: str, generic: str, fragment: Fragment, arguments: dict[str, Any]) -> Any:
        entry = OPERATIONS.get(name)
        if entry is None:
            raise CallError(f"texpr does not have `{name}`", code="nnef")
        types = {p.name: p.type for p in fragment.parameters if p.takes_tensor}
        held = [v for n, a in arguments.items() if n in types for v in leaves(a)]
        if entry.raw:
            return entry.convert(Operation(name, generic, self.capture, self), **arguments)
        if any(isinstance(v, Symbolic) for v in held):
            return self._applied(Operation(name, generic, self.capture, self), entry, types, arguments)
        if not held and not types:
            given = {n: plain(a) for n, a in arguments.items()}
            return entry.convert(Operation(name, generic, self.capture, self), **given)
        inner = Capture("constants")
        with inner:
            results = self._applied(Operation(name, generic, inner, self), entry, types, arguments)
        return _folded(inner, results)

    def _applied(self, about: Operation, entry: Any, types: dict[str, str], arguments: dict[str, Any]) -> Any:
        """The results of an operation of the table, on tensors of its capture: numbers beside tensors
        take their dtype, but not where integers or logical values are asked for.
        """
        typed = [v for n in arguments if n in types for v in leaves(arguments[n]) if hasattr(v, "dtype")]
        common = typed[0].dtype if typed else None
        ready = {}
        for n, a in arguments.items():
            like = common if types.get(n, "") not in ("tensor<integer>", "tensor<logical>") else None
            if n not in types:
                ready[n] = plain(a)
            elif isinstance(a, list) and (
                types[n].endswith("[]") or any(not _is_number(v) for v in leaves(a))
            ):
                ready[n] = [about.tensor(v, like) for v in a]
            elif isinstance(a, Symbolic) or (entry.numbers and _is_number(a)):
                ready[n] = a
            else:
                ready[n] = about.tensor(a, like)
        if entry.numbers and not any(isinstance(v, Symbolic) for v in leaves(list(ready.values()))):
            ready |= {n: about.tensor(ready[n], common) for n in types if n in ready}
        return entry.convert(about, **ready)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _folded(capture: Capture, results: Any) -> Any:
    """The values of results that depend on constants alone."""
    several = results if isinstance(results, list | tuple) else [results]
    values = iter(evaluated(capture, [r for r in several if isinstance(r, Symbolic)]))
    found = [next(values) if isinstance(r, Symbolic) else r for r in several]
    return type(results)(found) if isinstance(results, list | tuple) else found[0]


def plain(value: Any) -> Any:
    """A value as numbers, texts and arrays of them, as attributes are.

    Raises:
        CallError: it depends on data.
    """
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, Known):
        return value.numbers().tolist()
    if isinstance(value, Symbolic):
        raise CallError(
            "an attribute must be known when the program is made, and it is computed from data", code="nnef"
        )
    return value


def names_of(target: Any) -> Iterator[Name]:
    """The names on the left of an assignment."""
    if isinstance(target, Name):
        yield target
    else:
        for part in target.items:
            yield from names_of(part)


def _named(node: Name, names: Mapping[str, Value], source: Source) -> Any:
    if node.name in names:
        return names[node.name]
    if node.name in ("inf", "nan"):
        return float(node.name)
    raise refused(f"`{node.name}` is used before it is defined", node, source)


def _built_in(node: Call, given: list[Any], source: Source) -> Any:
    if len(given) != 1 or node.named:
        raise refused(f"`{node.name}` takes one value", node, source)
    x = given[0]
    if node.name == "shape_of" and isinstance(x, Symbolic | Known):
        return list(x.shape)
    if node.name in ("length_of", "range_of"):
        if not isinstance(x, list | tuple | str):
            raise refused(f"`{node.name}` takes an array", node, source)
        return len(x) if node.name == "length_of" else list(range(len(x)))
    x = plain(x)
    try:
        if node.name == "integer":
            return int(x)
        if node.name == "scalar":
            return float(x)
        if node.name == "logical":
            return x.lower() not in ("", "false", "0") if isinstance(x, str) else bool(x)
        if node.name == "string" and not isinstance(x, list | tuple):
            return str(x).lower() if isinstance(x, bool) else str(x)
    except (TypeError, ValueError, OverflowError):
        pass
    raise refused(f"`{node.name}` of this value", node, source)


def refused(message: str, at: Any, source: Source) -> CheckpointError:
    """An error with a place of a text."""
    return CheckpointError(message, Span(source, at.start, at.stop), code="nnef")
