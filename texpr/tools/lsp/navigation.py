"""Definitions, references and renaming of names in a region."""

from __future__ import annotations

import re
from bisect import bisect_left
from pathlib import Path

from texpr.compiler.imports import LIBRARY
from texpr.ir.dtypes import DTYPES
from texpr.ir.printing.types import RESERVED
from texpr.lang.elaboration.function_calls import YIELDING, is_scalar_function
from texpr.lang.syntax import tree
from texpr.support.errors import CallError, Error
from texpr.support.frozen_dataclass import frozen
from texpr.tools.lsp.diagnostics import Edit
from texpr.tools.lsp.documents import View
from texpr.tools.lsp.operator_proofs import Origin
from texpr.tools.lsp.regions import Region
from texpr.tools.lsp.symbols import GLOBAL, Range, Symbol

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class Elsewhere:
    """A place in another file; `line` and `column` count from 0, `length` in characters."""

    path: str
    line: int
    column: int
    length: int


def definition(view: View, offset: int, origin: Origin) -> Range | Elsewhere | None:
    """The place where the name at an offset is declared: in the text, or in the file that a `use`
    names.
    """
    symbol = view.symbol(offset)
    if symbol is None:
        return None
    if symbol.kind == "imported" and isinstance(symbol.node, tree.Use):
        return _imported(symbol, symbol.node, origin)
    return symbol.declared


def _imported(symbol: Symbol, use: tree.Use, origin: Origin) -> Elsewhere | None:
    """The declaration in another text."""
    word = next(w for w in use.names if w.text == symbol.name)
    try:
        source = origin.uses()(use, word, origin.name)
    except Error:
        return None
    found = re.search(rf"^[ \t]*(?:extern\s+)?(?:op|fn)\s+({symbol.name})\b", source.text, re.MULTILINE)
    if found is None:
        return None
    line, column = source.position(found.start(1))
    return Elsewhere(str(_path(source.name, use)), line - 1, column - 1, len(symbol.name))


def _path(name: str, use: tree.Use) -> Path:
    return Path(name).resolve() if use.file else LIBRARY / Path(name).name


def references(view: View, offset: int) -> list[Range]:
    """All places of the name at an offset, its declaration first."""
    symbol = view.symbol(offset)
    if symbol is None:
        return []
    return [symbol.declared, *(p for p in sorted(symbol.places) if p != symbol.declared)]


def renameable(view: View, offset: int) -> Range | None:
    """The range of the name at an offset; None where there is none, or where it is declared
    elsewhere.
    """
    symbol = view.symbol(offset)
    if symbol is None or symbol.kind == "imported":
        return None
    return next((p for p in symbol.places if p[0] <= offset <= p[1]), None)


def rename(view: View, offset: int, new: str) -> list[Edit]:
    """The edits that give the name at an offset another name.

    Raises:
        CallError: there is no name, it is declared elsewhere, or the new name is not free.
    """
    symbol = view.symbol(offset)
    if symbol is None:
        raise CallError("there is no name here that can be changed", code="rename")
    if symbol.kind == "imported":
        raise CallError(f"`{symbol.name}` is declared in another text", code="rename")
    _check_word(new, symbol)
    _check_free(view, symbol, new)
    places = sorted(symbol.places)
    if not all(view.region.is_whole(a, b) for a, b in places):
        raise CallError(f"`{symbol.name}` stands in a string with escapes", code="rename")
    edits = [Edit(a, b, new) for a, b in places]
    _check_meaning(view, symbol, edits, new)
    return edits


def _check_word(new: str, symbol: Symbol) -> None:
    if not _NAME.fullmatch(new):
        raise CallError(f"`{new}` is not a name", code="rename", help="letters, digits and _, no digit first")
    if new in RESERVED:
        raise CallError(f"`{new}` is a reserved word", code="rename")
    if new in DTYPES:
        raise CallError(f"`{new}` is the name of a type", code="rename")
    if symbol.kind in GLOBAL and is_scalar_function(new) and new not in YIELDING:
        raise CallError(f"`{new}` is a function of the language", code="rename")


def _check_free(view: View, symbol: Symbol, new: str) -> None:
    """Refuse a name that has a meaning where the symbol is known, or where a symbol of that name
    would come to lie in its scope.
    """
    for other in view.symbols:
        if other is symbol or other.name != new:
            continue
        together = other.owner is symbol.owner and (
            _holds(other.scope, symbol.scope) or _holds(symbol.scope, other.scope)
        )
        if together or (symbol.kind in GLOBAL and other.kind in GLOBAL):
            raise CallError(
                f"`{new}` already has a meaning here: {other.kind}",
                code="rename",
                help="one name means one thing in an operator; choose another",
            )


def _holds(outer: tree.Tree, inner: tree.Tree) -> bool:
    return outer.span.start <= inner.span.start and inner.span.stop <= outer.span.stop


def _check_meaning(view: View, symbol: Symbol, edits: list[Edit], new: str) -> None:
    """Refuse a renaming after which some name means something else than before."""
    after = View(Region(changed(view.text, edits), (0,), (), False))
    starts = [e.start for e in edits]
    longer = len(new) - len(symbol.name)

    def moved(place: Range) -> Range:
        start, stop = place
        before = start + longer * bisect_left(starts, start)
        return before, before + (len(new) if place in symbol.places else stop - start)

    expected = sorted(sorted(map(moved, s.places)) for s in view.symbols)
    found = sorted(sorted(s.places) for s in after.symbols)
    if expected != found:
        raise CallError(f"with the name `{new}` the text would mean something else", code="rename")


def changed(text: str, edits: list[Edit]) -> str:
    """A text after edits, which are in order."""
    for e in reversed(edits):
        text = text[: e.start] + e.new + text[e.stop :]
    return text
