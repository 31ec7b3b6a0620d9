"""Outlines: the operators and functions of a region, with their tensors below them."""

from __future__ import annotations

from texpr.lang.syntax import tree
from texpr.support.frozen_dataclass import frozen
from texpr.tools.lsp.documents import View
from texpr.tools.lsp.hover import head
from texpr.tools.lsp.symbols import Range, Symbol


@frozen
class Entry:
    """A name in an outline.

    Attributes:
        whole: range of all that belongs to it; `place` is that of the name.
    """

    name: str
    kind: str
    detail: str
    whole: Range
    place: Range
    children: tuple[Entry, ...] = ()


def outline(view: View) -> list[Entry]:
    """The operators and functions of a region, in the order of the text."""
    found = []
    for part in view.parts:
        inside = [s for s in view.symbols if part.start <= s.declared[0] < part.stop]
        for symbol in inside:
            if symbol.kind in ("operator", "function"):
                span = symbol.owner.span
                whole = (part.start + span.start, part.start + span.stop)
                detail = head(symbol.owner) if isinstance(symbol.owner, tree.Operator) else span.text
                children = tuple(_child(s) for s in inside if s.owner is symbol.owner and _is_tensor(s))
                found.append(Entry(symbol.name, symbol.kind, detail, whole, symbol.declared, children))
    return found


def _is_tensor(symbol: Symbol) -> bool:
    return symbol.kind in ("input", "output", "tensor", "constant")


def _child(symbol: Symbol) -> Entry:
    return Entry(symbol.name, symbol.kind, "", symbol.declared, symbol.declared)
