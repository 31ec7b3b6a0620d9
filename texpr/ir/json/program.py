"""Programs as JSON and back: a row for each node, after the rows of what it is made of, so that
what is shared stays shared.

A row is the name of a class and the values of its fields: a number is the place of a node, text
begins with what it stands for (`s` text, `i` a whole number, `f` the bits of a float, `t` a dtype),
a list is a tuple. Where users wrote a node (`span`) is left out, unless sources are asked for: `p`
is a place in one of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from texpr.ir import expr, tensor
from texpr.ir.dtypes import DTYPES, DType
from texpr.support.source import Source, Span

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for module in (expr, tensor)
    for kind in vars(module).values()
    if isinstance(kind, type) and is_dataclass(kind) and issubclass(kind, expr.Node | expr.Dim)
}
_WITH_SPANS: dict[type, tuple[str, ...]] = {
    kind: tuple(f.name for f in fields(kind)) for kind in _KINDS.values()
}
_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in names if name != "span") for kind, names in _WITH_SPANS.items()
}
_BITS = struct.Struct("<d")


class Encoder:
    """Rows of nodes.

    Args:
        known: nodes that whoever reads the rows has already; they have the first places.
        spans: write where users wrote the nodes, too.
    Attributes:
        rows: so far.
        sources: that spans are places of.
    """

    def __init__(self, known: Sequence[object] = (), spans: bool = False) -> None:
        self.rows: list[list[object]] = []
        self.sources: list[Source] = []
        self._names = _WITH_SPANS if spans else _NAMES
        self._known = known
        self._places = {id(node): k for k, node in enumerate(known)}

    def item(self, value: object) -> object:
        """A value as it stands in a row.

        Raises:
            ValueError: there is something in it that has no text.
        """
        for node in _nodes((value,)):
            self._add(node)
        return self._written(value)

    def _add(self, root: object) -> None:
        stack: list[tuple[object, list[object] | None]] = [(root, None)]
        while stack:
            node, values = stack.pop()
            if id(node) in self._places:
                continue
            if values is None:
                values = [getattr(node, name) for name in self._names[type(node)]]
                missing = [(n, None) for n in _nodes(values) if id(n) not in self._places]
                if missing:
                    stack += [(node, values), *missing]
                    continue
            self._places[id(node)] = len(self._places)
            self.rows.append([type(node).__name__, *map(self._written, values)])

    def _written(self, value: object) -> object:
        kind = type(value)
        if kind in _NAMES:
            return self._places[id(value)]
        if value is None or kind is bool:
            return value
        if kind is DType:
            return f"t{value}"
        if kind is str:
            return f"s{value}"
        if kind is int:
            return f"i{value}"
        if kind is float:
            return f"f{_BITS.pack(value).hex()}"
        if kind is tuple:
            return [self._written(each) for each in value]  # type: ignore[attr-defined]
        if isinstance(value, Span):
            return f"p{self._place(value.source)} {value.start} {value.stop} {value.now}"
        raise ValueError(f"{kind.__name__} has no text")

    def _place(self, source: Source) -> int:
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)


def _nodes(values: Sequence[object]) -> Iterator[object]:
    """The nodes among values, and in tuples of them."""
    for value in values:
        if type(value) in _NAMES:
            yield value
        elif type(value) is tuple:
            yield from _nodes(value)  # type: ignore[arg-type]


class Decoder:
    """Nodes of rows, as `Encoder` makes them.

    Args:
        known: the nodes with the first places.
        sources: of an encoder that wrote spans.
    Raises:
        ValueError: the rows are none of an encoder's.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[object]],
        known: Sequence[object] = (),
        sources: Sequence[Source] | None = None,
    ) -> None:
        self._nodes, self._sources = list(known), sources or ()
        self._with_spans = sources is not None
        self._texts: dict[str, object] = {}
        self.add(rows)

    def add(self, rows: Sequence[Sequence[object]]) -> None:
        """Read more rows of the same encoder.

        Raises:
            ValueError: they are none.
        """
        names = _WITH_SPANS if self._with_spans else _NAMES
        put = object.__setattr__
        try:
            for name, *values in rows:
                kind = _KINDS[name]  # type: ignore[index]
                node = object.__new__(kind)
                for field, value in zip(names[kind], values, strict=True):
                    put(node, field, self.item(value))
                if not self._with_spans and kind in _SPANS:
                    put(node, "span", None)
                self._nodes.append(node)
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"no rows of nodes: {error!r}") from None

    def item(self, value: object) -> object:
        """The value of an item of a row.

        Raises:
            ValueError: no such node, dtype or number.
        """
        kind = type(value)
        if kind is int:
            return self._node(value)  # type: ignore[arg-type]
        if kind is list:
            return tuple([self.item(each) for each in value])  # type: ignore[attr-defined]
        if kind is not str:
            return value
        found = self._texts.get(value, self)  # type: ignore[call-overload]
        if found is self:
            read = self._span if value[:1] == "p" else _read  # type: ignore[index]
            found = self._texts[value] = read(value)  # type: ignore[index,arg-type]
        return found

    def _span(self, text: str) -> Span:
        place, start, stop, now = text[1:].split(" ", 3)
        return Span(self._sources[int(place)], int(start), int(stop), now)

    def _node(self, place: int) -> object:
        if not 0 <= place < len(self._nodes):
            raise ValueError(f"there is no node {place}")
        return self._nodes[place]


_SPANS = frozenset(kind for kind in _KINDS.values() if any(f.name == "span" for f in fields(kind)))


def _read(text: str) -> object:
    match text[:1]:
        case "s":
            return text[1:]
        case "i":
            return int(text[1:])
        case "f":
            return _BITS.unpack(bytes.fromhex(text[1:]))[0]
        case "t" if text[1:] in DTYPES:
            return DTYPES[text[1:]]
    raise ValueError(f"{text[:40]!r} stands for nothing")
