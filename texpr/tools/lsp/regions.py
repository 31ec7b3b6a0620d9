"""Texts of operators in a document: all of a `.tx` file, or the strings of calls of `tx.op` in
Python.

A region knows the place of each of its characters in the document. Strings with escapes and
strings of several parts are mapped character by character. Two kinds of strings are left out: f-strings,
whose text is not known before they run, and strings that this module decodes to another text than
Python does.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from texpr.support.frozen_dataclass import frozen_by_identity
from texpr.tools.lsp.positions import Lines

_CALLEES = frozenset({"op"})
_PREFIX = re.compile(r"([rRuU]?)('''|\"\"\"|'|\")")
_ESCAPE = re.compile(
    r"\\(\r\n|\n|\r|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]+\}|.)", re.DOTALL
)
_BETWEEN = re.compile(r"(?:[ \t\f]|\\(?:\r\n|\n|\r)|\r\n|\n|\r|#[^\r\n]*)*")
_HALF_TYPED = re.compile(r"\b(?:tx|texpr)\.op\(\s*(?=[rR]?(?:'|\"))")


@frozen_by_identity
class Region:
    """A text of operators in a document.

    Attributes:
        text: the text as texpr reads it.
        starts: the offset in the document of each character, and of the end.
        stops: the offset in the document behind each character.
        literal: the characters stand in the document as they are, in lines of their own, so that
            the text may be laid out anew.
        quote: the quotes around it; empty for a whole document.
    """

    text: str
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    literal: bool
    quote: str = ""

    def place(self, start: int, stop: int) -> tuple[int, int]:
        """Range in the document of a range of the text."""
        first = self.starts[min(start, len(self.text))]
        return first, max(first, self.stops[stop - 1]) if start < stop <= len(self.text) else first

    def offset(self, place: int) -> int | None:
        """Offset in the text of a place in the document; None outside."""
        if not self.starts[0] <= place <= self.starts[-1]:
            return None
        found = bisect_left(self.starts, place)
        exact = found < len(self.starts) and self.starts[found] == place
        return found if exact else bisect_right(self.starts, place) - 1

    def is_whole(self, start: int, stop: int) -> bool:
        """True if a range of the text stands in one part of the document, character by character."""
        first, last = self.place(start, stop)
        return last - first == stop - start


def regions(text: str, python: bool) -> list[Region]:
    """The texts of operators in a document, in its order."""
    if python:
        return list(_in_python(text))
    begin = 1 if text.startswith("\ufeff") else 0
    places = tuple(range(begin, len(text) + 1))
    return [Region(text[begin:], places, places[1:], True)]


def _in_python(text: str) -> Iterator[Region]:
    try:
        module = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _in_half_typed(text)
        return
    begin = len(text) - len(text.removeprefix("\ufeff"))
    lines = Lines(text[begin:], "utf-8")
    found = [c.args[0] for c in _calls(module)]
    for node in sorted(found, key=lambda n: (n.lineno, n.col_offset)):
        start = begin + lines.offset(node.lineno - 1, node.col_offset)
        stop = begin + lines.offset((node.end_lineno or 1) - 1, node.end_col_offset or 0)
        region = _region(text, start, stop, node.value)  # type: ignore[attr-defined]
        if region is not None:
            yield region


def _calls(module: ast.Module) -> list[ast.Call]:
    """The calls of `op` of texpr whose first argument is a string."""
    modules, functions = {"tx", "texpr"}, set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name for a in node.names if a.name == "texpr"}
        elif isinstance(node, ast.ImportFrom) and node.module == "texpr":
            functions |= {a.asname or a.name for a in node.names if a.name in _CALLEES}
    calls = [n for n in ast.walk(module) if isinstance(n, ast.Call) and n.args]
    return [c for c in calls if _is_op(c.func, modules, functions) and _is_text(c.args[0])]


def _is_op(callee: ast.expr, modules: set[str], functions: set[str]) -> bool:
    match callee:
        case ast.Attribute(ast.Name(owner), name):
            return owner in modules and name in _CALLEES
        case ast.Name(name):
            return name in functions
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _in_half_typed(text: str) -> Iterator[Region]:
    """The closed strings behind `tx.op(` of a document that Python does not parse."""
    place = 0
    while found := _HALF_TYPED.search(text, place):
        place = found.end()
        stop = _end_of_string(text, place)
        region = None if stop is None else _region(text, place, stop, None)
        if region is not None and stop is not None:
            place = stop
            yield region


def _end_of_string(text: str, start: int) -> int | None:
    prefix = _PREFIX.match(text, start)
    if prefix is None:
        return None
    quote = prefix[2]
    body = r"(?:[^\\]|\\.)*?" if len(quote) == 3 else r"(?:[^\\\r\n]|\\.)*?"
    found = re.compile(body + quote, re.DOTALL).match(text, prefix.end())
    return found.end() if found else None


def _region(text: str, start: int, stop: int, value: str | None) -> Region | None:
    """The region of a string, which may have several parts; None where it cannot be mapped.

    Args:
        value: the text that Python makes of it, where Python parsed it.
    """
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    place, parts, quote, inside = start, 0, "", start
    while place < stop:
        prefix = _PREFIX.match(text, place)
        end = _end_of_string(text, place)
        if prefix is None or end is None:
            return None
        quote = prefix[2]
        for c, first, last in _characters(text, prefix.end(), end - len(quote), prefix[1] in ("r", "R")):
            characters.append(c)
            starts.append(first)
            stops.append(last)
        parts += 1
        inside = end - len(quote)
        between = _BETWEEN.match(text, end)
        place = between.end() if between else end
    found = "".join(characters)
    if parts == 0 or (value is not None and found != value):
        return None
    exact = all(b - a == 1 or c == "\n" for c, a, b in zip(found, starts, stops))
    return Region(found, (*starts, inside), tuple(stops), parts == 1 and exact and len(quote) == 3, quote)


def _characters(text: str, start: int, stop: int, raw: bool) -> Iterator[tuple[str, int, int]]:
    """The characters of the inside of a string, each with its range in the document."""
    place = start
    while place < stop:
        escape = None if raw or text[place] != "\\" else _ESCAPE.match(text, place, stop)
        if escape is not None:
            for c in _decoded(escape.group()):
                yield c, place, escape.end()
            place = escape.end()
        elif text.startswith("\r\n", place):
            yield "\n", place, place + 2
            place += 2
        else:
            yield ("\n" if text[place] == "\r" else text[place]), place, place + 1
            place += 1


def _decoded(escape: str) -> str:
    """The characters that an escape sequence stands for."""
    if escape[1] in "\r\n":
        return ""
    if escape[1] not in "\\'\"abfnrtvxuUN01234567":
        return escape  # Python keeps the backslash
    try:
        return ast.literal_eval(f'"{escape}"') if escape != '\\"' else '"'
    except (SyntaxError, ValueError):
        return escape
