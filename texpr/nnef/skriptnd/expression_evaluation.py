"""Expressions of SkriptND: what is known is computed, what is not becomes terms of the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from texpr.nnef.skriptnd.runtime_terms import WHOLE_DIMENSION, Edge, Repeated, Stacked, Tensor, Term, is_whole
from texpr.nnef.skriptnd.scalar_terms import (
    BUILT_IN,
    LARGEST,
    Refusal,
    arithmetic,
    chosen,
    compared,
    converted,
    function,
    inverted,
    kind_of,
    logical,
    negative,
    number_text,
)
from texpr.nnef.skriptnd.size_polynomials import IndexName, Size, names_of, text_of
from texpr.nnef.syntax import skript_tree
from texpr.nnef.syntax.skript_parser import parse_expression
from texpr.support.errors import CheckError, ParseError
from texpr.support.suggest import did_you_mean

LONGEST = 4096
"""Items of a pack."""
_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_EMPTY = {"real": 0.0, "int": 0, "bool": False, "str": ""}
_FORMATTED = re.compile(r"\{([^{}]*)\}")


class UnknownName(Exception):
    """A name that has no value yet."""

    def __init__(self, name: str, at: skript_tree.Part) -> None:
        super().__init__(name)
        self.name, self.at = name, at


class NeedsUnrolling(Exception):
    """A pack is indexed by an index: each of its values needs an equation of its own."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


class Evaluator:
    """Values of expressions in the definition of one operator.

    Args:
        operator: whose text it is.
        values: by name: attributes, sizes, helper symbols, tensors, indices.
        kinds: what its generic types are: `real`, `int`, `bool` or `str`.
        dtypes: the types of the language for `real`, `int` and `bool`.
    """

    def __init__(
        self,
        operator: skript_tree.Operator,
        values: dict[str, Any],
        kinds: dict[str, str],
        dtypes: dict[str, str],
    ) -> None:
        self.operator, self.values, self.kinds, self.dtypes = operator, values, kinds, dtypes
        self.on_read: Callable[[Tensor, list[Any]], Any] = lambda tensor, indices: read(tensor, indices)

    def refused(self, part: skript_tree.Part, message: str, help: str = "") -> CheckError:  # noqa: A002
        """The error for a part of the definition."""
        return CheckError(message, self.operator.span(part), code="skriptnd", help=help)

    def value(self, part: Any) -> Any:
        """The value of an expression.

        Raises:
            UnknownName: a name has no value yet.
            CheckError: it means nothing, with the place.
        """
        try:
            return _METHODS[type(part)](self, part)
        except Refusal as refusal:
            error = self.refused(part, refusal.message, refusal.help)
        raise error

    def known(self, part: Any) -> Any:
        """The value of an expression whose names must all have one."""
        try:
            return self.value(part)
        except UnknownName as unknown:
            error = self._unknown(unknown)
        raise error

    def _unknown(self, unknown: UnknownName) -> CheckError:
        near = did_you_mean(unknown.name, list(self.values))
        return self.refused(unknown.at, f"`{unknown.name}` is not known here", near)

    def _literal(self, part: skript_tree.Value) -> Any:
        if isinstance(part.value, int) and part.value > LARGEST:
            raise Refusal("whole numbers have 64 bits")
        return part.value

    def _name(self, part: skript_tree.Named) -> Any:
        if part.name in self.values:
            return self.values[part.name]
        name, _, member = part.name.partition(".")
        if member and name in self.values:
            return _member(self.values[name], member)
        raise UnknownName(part.name, part)

    def _items(self, part: skript_tree.ItemList) -> Any:
        return self.entries(part.items)

    def entries(self, parts: list[Any]) -> Any:
        """Items of a list, expanded; None where one is absent."""
        found: list[Any] = []
        for each in parts:
            many = isinstance(each, (skript_tree.Expand, skript_tree.Range, skript_tree.Zip))
            value = self._expand(each) if isinstance(each, skript_tree.Expand) else self.value(each)
            if value is None:
                return None
            found += value if many and isinstance(value, list) else [value]
            if len(found) > LONGEST:
                raise Refusal(f"a pack of more than {LONGEST} items")
        return found

    def _expand(self, part: skript_tree.Expand) -> Any:
        value = self.value(part.x)
        count = None if part.count is None else self.value(part.count)
        if isinstance(value, list) or value is None or (part.count is not None and count is None):
            return value
        if isinstance(value, Stacked):
            return value
        if part.count is None:
            raise Refusal("`..` needs a pack before it, or a count behind it", "write x ..(n)")
        return [value] * self.count(int(count) if isinstance(count, bool) else count)

    def count(self, value: Any) -> int:
        """A length that must be a number."""
        if isinstance(value, int) and 0 <= value <= LONGEST:
            return value
        if isinstance(value, Size):
            raise Refusal(f"the length `{value}` of a pack is no number", "give a number for that size")
        raise Refusal(f"the length of a pack is 0 to {LONGEST}; found {value}")

    def _range(self, part: skript_tree.Range) -> Any:
        if part.first is None and part.last is None and part.step is None:
            return WHOLE_DIMENSION
        first, last, step = (None if p is None else self.value(p) for p in (part.first, part.last, part.step))
        step = 1 if step is None else step
        first, last = 0 if first is None else first, last
        if not isinstance(step, int) or step == 0:
            raise Refusal(f"the step of a range is a number other than 0; found {step}")
        if last is None:
            raise Refusal("a range in a list needs its end")
        for each in (first, last):
            if not is_whole(each):
                raise Refusal(f"the bounds of a range are whole numbers; found {_shown(each)}")
        span = last - first
        if not isinstance(span, int):
            raise Refusal(f"the length of a range, `{span}`, is no number", "give numbers for these sizes")
        if (count := max(0, -(-span // step))) > LONGEST:  # `len` of a range has 64 bits
            raise Refusal(f"a range of {count} items; {LONGEST} are made")
        return [first + step * k for k in range(count)]

    def _zip(self, part: skript_tree.Zip) -> Any:
        packs = [self.value(p) for p in part.items]
        if not all(isinstance(p, list) for p in packs) or len({len(p) for p in packs}) != 1:
            raise Refusal("packs that are taken in turn are of one length")
        return [item for items in zip(*packs) for item in items]

    def _index(self, part: skript_tree.Index) -> Any:
        pack = self.value(part.x)
        if pack is None:
            return None
        if isinstance(pack, Tensor):
            raise Refusal("an element of a tensor of one dimension is `x[i,]`, with a comma")
        if isinstance(part.index, skript_tree.Range):
            return self._slice(pack, part.index)
        index = self.value(part.index)
        if index is None:
            return None
        if isinstance(pack, Repeated):
            return pack.value
        if isinstance(pack, Stacked):
            return pack.item(index if not isinstance(index, int) or index >= 0 else pack.count + index)
        if not isinstance(pack, (list, str)):
            raise Refusal("only a pack has items")
        return self._item(pack, index)

    def _item(self, pack: Any, index: Any) -> Any:
        if isinstance(index, list):
            if index and all(isinstance(i, bool) for i in index):
                self._same_length(pack, index)
                return [p for p, i in zip(pack, index) if i]
            return [self._item(pack, i) for i in index]
        if isinstance(index, Size):
            names = {n for n in names_of(index) if isinstance(n, IndexName)}
            if names:
                raise NeedsUnrolling({str(n) for n in names})
        if not isinstance(index, int) or not -len(pack) <= index < len(pack):
            raise Refusal(f"item {_shown(index)} of a pack of {len(pack)}")
        return pack[index]

    def _slice(self, pack: Any, part: skript_tree.Range) -> Any:
        first, last, step = (None if p is None else self.value(p) for p in (part.first, part.last, part.step))
        if isinstance(pack, Stacked):
            if (first, last, step) == (None, None, -1):
                return pack.reversed()
            raise Refusal("of a pack whose length is no number, only `[::-1]` is taken")
        if not all(v is None or isinstance(v, int) for v in (first, last, step)):
            raise Refusal("bounds of items are numbers")
        if not isinstance(pack, (list, str)):
            raise Refusal("only a pack has items")
        return pack[slice(first, last, step)]

    def _same_length(self, *packs: list[Any]) -> None:
        if len({len(p) for p in packs}) > 1:
            raise Refusal(f"packs of different length: {' and '.join(str(len(p)) for p in packs)} items")

    def lifted(self, of: Callable[..., Any], *arguments: Any) -> Any:
        """A function of scalars, item by item where an argument is a pack; None if one is absent."""
        if any(a is None for a in arguments):
            return None
        arguments = tuple(a.value if isinstance(a, Repeated) else a for a in arguments)
        packs = [a for a in arguments if isinstance(a, list)]
        if not packs:
            return of(*arguments)
        self._same_length(*packs)
        rows = ([a[k] if isinstance(a, list) else a for a in arguments] for k in range(len(packs[0])))
        return [self.lifted(of, *row) for row in rows]

    def _substitute(self, part: skript_tree.Substitute) -> Any:
        pack, index, value = self.value(part.x), self.value(part.index), self.value(part.value)
        if pack is None or index is None or value is None:
            return None
        if not isinstance(pack, list):
            raise Refusal("`<-` is for packs")
        at = index if isinstance(index, list) else [index]
        new = value if isinstance(value, list) else [value] * len(at)
        self._same_length(at, new)
        found = list(pack)
        for k, item in zip(at, new):
            if not isinstance(k, int) or isinstance(k, bool) or not -len(pack) <= k < len(pack):
                raise Refusal(f"item {_shown(k)} of a pack of {len(pack)}")
            found[k] = item
        return found

    def _prefix(self, part: skript_tree.Prefix) -> Any:
        if part.operator == "?":
            return self.value(part.x) is not None
        of = {"+": lambda x: x, "-": negative, "!": inverted}[part.operator]
        return self.lifted(of, self.value(part.x))

    def _infix(self, part: skript_tree.Infix) -> Any:
        symbol = part.operator
        x = self.value(part.x)
        if symbol in ("&&", "||", "=>") and isinstance(x, bool) and x == (symbol == "||"):
            return symbol != "&&"  # what stands behind it is not asked
        y = self.value(part.y)
        if symbol == "in":
            return self._contained(x, y)
        if symbol in _COMPARED:
            return self.lifted(lambda a, b: compared(symbol, *self._alike(a, b)), x, y)
        if symbol == "is":
            return self.lifted(lambda a, b: type(a) is type(b) and a == b, x, y)
        return self.lifted(lambda a, b: binary(symbol, a, b), x, y)

    def _alike(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Two values that are compared: both are reals where they are of different types."""
        kinds = {kind_of(x), kind_of(y)}
        if len(kinds) == 2 and "str" not in kinds:
            return converted("real", x, self.dtypes), converted("real", y, self.dtypes)
        return x, y

    def _contained(self, x: Any, y: Any) -> Any:
        if x is None or y is None:
            return None
        if not isinstance(y, list):
            raise Refusal("`in` needs a pack behind it")
        return self.lifted(lambda a: any(a == b for b in y), x)

    def _select(self, part: skript_tree.Select) -> Any:
        condition = self.value(part.condition)
        if condition is None:
            return None
        if isinstance(condition, bool):
            taken = part.yes if condition else part.no
            return None if taken is None else self.value(taken)
        yes = self.value(part.yes)
        no: Any = None if part.no is None else self.value(part.no)
        if isinstance(condition, list):
            if not all(isinstance(v, list) for v in (yes, no)):
                yes, no = ([v] * len(condition) if not isinstance(v, list) else v for v in (yes, no))
            self._same_length(condition, yes, no)
            rows: Any = zip(condition, yes, no)
            return [self.lifted(chosen, c, a, b) for c, a, b in rows]
        if isinstance(yes, list) and isinstance(no, list):
            return [chosen(condition, a, b) for a, b in zip(yes, no)]
        return chosen(condition, yes, no)

    def _coalesce(self, part: skript_tree.Coalesce) -> Any:
        value = self.value(part.x)
        return self.value(part.otherwise) if value is None else value

    def _fold(self, part: skript_tree.Fold) -> Any:
        pack = self.value(part.x)
        if pack is None:
            return None
        if isinstance(pack, Repeated) and part.operator == ":=":
            return pack.value
        if isinstance(pack, Stacked):
            pack = [pack.item(k) for k in range(self.count(pack.count))]
        if not isinstance(pack, list):
            raise Refusal(f"`{part.operator} ..` is for packs")
        if part.steps:
            return list(accumulate(pack, lambda a, b: binary(part.operator, a, b)))
        return folded(part.operator, pack)

    def _bounded(self, part: skript_tree.Bounded) -> Any:
        index = self.value(part.index)
        if part.low is None:
            return self.lifted(Edge, index)
        return self.lifted(Edge, index, self.value(part.low), self.value(part.high))

    def is_function(self, name: str) -> bool:
        """True for a function of one value, a conversion to a type among them."""
        return name in BUILT_IN or name in _EMPTY or name in self.kinds

    def _invocation(self, part: skript_tree.Invocation) -> Any:
        kind = self.kinds.get(part.name, part.name if part.name in _EMPTY else "")
        if kind:
            if not part.arguments:
                return _EMPTY[kind]
            return self.lifted(lambda x: converted(kind, x, self.dtypes), self.value(part.arguments[0]))
        if part.name not in BUILT_IN or len(part.arguments) != 1 or part.attributes:
            raise Refusal(
                f"`{part.name}(...)` is no function of one value here",
                did_you_mean(part.name, sorted(BUILT_IN)) or "operators are invoked in @compose",
            )
        return self.lifted(lambda x: function(part.name, x), self.value(part.arguments[0]))

    def _access(self, part: skript_tree.Access) -> Any:
        tensor = self.value(part.x)
        if tensor is None:
            return None
        if isinstance(tensor, Stacked):
            tensor = [tensor.item(k) for k in range(self.count(tensor.count))]
        if isinstance(tensor, list):
            return [self._element(t, part.indices) for t in tensor]
        return self._element(tensor, part.indices)

    def _element(self, tensor: Any, parts: list[Any]) -> Any:
        if not isinstance(tensor, Tensor):
            raise Refusal("only a tensor has elements")
        indices = self.indices(tensor, parts)
        return None if indices is None else packed_read(tensor, indices, self.on_read)

    def indices(self, tensor: Tensor, parts: list[Any]) -> list[Any] | None:
        """The indices of an element, one for each dimension.

        Raises:
            Refusal: they are more or fewer.
            CheckError: a name in them is not known.
        """
        try:
            indices = self.entries(parts)
        except UnknownName as unknown:
            raise self._unknown(unknown) from None
        if indices is None:
            return None
        if len(indices) != len(tensor.shape):
            raise Refusal(f"{tensor.name} has {len(tensor.shape)} dimensions, found {len(indices)} indices")
        return indices

    def formatted(self, text: str) -> str:
        """A message with the values of what stands in its braces."""

        def shown(match: re.Match[str]) -> str:
            try:
                return _shown(self.value(parse_expression(match[1])))
            except (UnknownName, CheckError, ParseError):
                return match[1]

        return _FORMATTED.sub(shown, text)

    def _omitted(self, part: skript_tree.Omitted) -> None:
        return None


_METHODS: dict[type, Callable[[Evaluator, Any], Any]] = {
    skript_tree.Value: Evaluator._literal,
    skript_tree.Named: Evaluator._name,
    skript_tree.ItemList: Evaluator._items,
    skript_tree.Range: Evaluator._range,
    skript_tree.Zip: Evaluator._zip,
    skript_tree.Index: Evaluator._index,
    skript_tree.Access: Evaluator._access,
    skript_tree.Substitute: Evaluator._substitute,
    skript_tree.Prefix: Evaluator._prefix,
    skript_tree.Infix: Evaluator._infix,
    skript_tree.Select: Evaluator._select,
    skript_tree.Coalesce: Evaluator._coalesce,
    skript_tree.Fold: Evaluator._fold,
    skript_tree.Bounded: Evaluator._bounded,
    skript_tree.Invocation: Evaluator._invocation,
    skript_tree.Omitted: Evaluator._omitted,
}


def _member(value: Any, member: str) -> Any:
    if value is None:
        return None
    if isinstance(value, Tensor) and member in ("shape", "rank"):
        return list(value.shape) if member == "shape" else len(value.shape)
    if member == "size" and isinstance(value, (list, Stacked)):
        return len(value) if isinstance(value, list) else value.count
    raise Refusal(f"it has no `.{member}`", "tensors have .shape and .rank, packs of them have .size")


def binary(symbol: str, x: Any, y: Any) -> Any:
    """An operator of two scalars."""
    if symbol in ("&&", "||", "^", "=>"):
        return logical(symbol, x, y)
    if symbol in _COMPARED:
        return compared(symbol, x, y)
    if isinstance(x, Edge) or isinstance(y, Edge):
        raise Refusal("`|index|` stands alone at its place")
    return arithmetic(symbol, x, y)


def folded(symbol: str, pack: list[Any]) -> Any:
    """`pack symbol ..`"""
    if symbol == ":=":
        return pack[0] if pack and all(same(pack[0], p) for p in pack) else None
    if symbol == "!=":
        return all(not same(a, b) for k, a in enumerate(pack) for b in pack[:k])
    if symbol in ("<", "<=", ">", ">=", "=="):
        steps = [compared(symbol, a, b) for a, b in zip(pack, pack[1:])]
        return folded("&&", steps)
    start = {"+": 0, "*": 1, "&&": True, "||": False}.get(symbol)
    if not pack:
        if start is None:
            raise Refusal(f"`{symbol} ..` of nothing")
        return start
    total = pack[0]
    for item in pack[1:]:
        total = binary(symbol, total, item)
    return total


def same(x: Any, y: Any) -> bool:
    """True if two values are one, for all sizes."""
    return type(x) is type(y) and x == y


def _shown(x: Any) -> str:
    if isinstance(x, list):
        return f"[{', '.join(_shown(v) for v in x)}]"
    if isinstance(x, float):
        return number_text(x)
    if isinstance(x, (Term, Tensor)):
        return x.text if isinstance(x, Term) else x.name
    return text_of(x) if isinstance(x, Size) else str(x)


def packed_read(tensor: Tensor, indices: list[Any], on_read: Callable[[Tensor, list[Any]], Any]) -> Any:
    """An element; a pack of them where an index is a pack or a whole dimension."""
    for at, index in enumerate(indices):
        if index is WHOLE_DIMENSION:
            index = whole_dimension(tensor.shape[at])
        if isinstance(index, list):
            return [packed_read(tensor, [*indices[:at], i, *indices[at + 1 :]], on_read) for i in index]
    return on_read(tensor, indices)


def whole_dimension(extent: Any) -> list[int]:
    """The indices of a dimension.

    Raises:
        Refusal: they are too many, or how many there are is not known.
    """
    if not isinstance(extent, int):
        raise Refusal(f"`:` over `{extent}` items needs a number", "give a number for that size")
    if extent > LONGEST:
        raise Refusal(f"`:` over {extent} items; {LONGEST} are taken")
    return list(range(extent))


def read(tensor: Tensor, indices: list[Any]) -> Any:
    """An element of a tensor, whose indices are scalars.

    Raises:
        Refusal: an index is no whole number.
    """
    if tensor.value is not None:
        return tensor.value
    texts = [index_text(i) for i in [*tensor.prefix, *indices]]
    text = f"{tensor.name}[{', '.join(texts)}]" if texts else tensor.name
    return Term(text, tensor.kind, source=tensor.name)


def index_text(index: Any) -> str:
    """An index in the language."""
    if is_whole(index):
        return text_of(index)
    if isinstance(index, Term) and index.kind == "int":
        return index.text
    raise Refusal(f"an index is a whole number; found {kind_of(index)}")
