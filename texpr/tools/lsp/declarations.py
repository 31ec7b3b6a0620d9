"""The declarations of a text, each parsed alone, so that one that is half typed leaves the others
as they are.

`op`, `fn`, `extern` and `use` are reserved words. Where such a word begins a line, a declaration
begins. The parse of a declaration is kept by its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from texpr.lang.syntax import tree
from texpr.lang.syntax.parser import parse_program
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen_by_identity

_BEGIN = re.compile(r"^[ \t]*(?=(?:op|fn|extern|use)\b)", re.MULTILINE)
_DECLARED = re.compile(r"\b(?:op|fn)\s+([A-Za-z_]\w*)")
_COMMENT = re.compile(r"#[^\n]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
NAME = "<op>"
"""Name of a text that is no file."""


@frozen_by_identity
class Parsed:
    """A declaration's trees, or the error of its text. Spans count from the declaration's begin."""

    items: tuple[tree.Tree, ...]
    error: Error | None


@frozen_by_identity
class Declared:
    """A part of a text that begins with a declaration; comments of the next one stand at its end.

    Attributes:
        start: offset of the part in the text.
    """

    text: str
    start: int

    @property
    def stop(self) -> int:
        return self.start + len(self.text)

    @property
    def parsed(self) -> Parsed:
        return parsed(self.text)

    @property
    def names(self) -> tuple[str, ...]:
        """The operators and functions that it declares, also where it does not parse."""
        return _names(self.text)

    @property
    def used(self) -> frozenset[str]:
        """The names that it takes from other texts."""
        return _used(self.text)

    @property
    def words(self) -> frozenset[str]:
        """All words of its text outside of comments."""
        return _words(self.text)


def declarations(text: str) -> list[Declared]:
    """The parts of a text. Text before the first declaration is a part where it has more than
    comments.
    """
    begins: list[int] = []
    for found in _BEGIN.finditer(text):
        if not (begins and _COMMENT.sub("", text[begins[-1] : found.start()]).strip() == "extern"):
            begins.append(found.start())
    parts = [Declared(text[a:b], a) for a, b in zip(begins, [*begins[1:], len(text)])]
    head = text[: begins[0]] if begins else text
    return [Declared(head, 0), *parts] if _COMMENT.sub("", head).strip() else parts


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    return tuple(_DECLARED.findall(_COMMENT.sub("", text)))


@lru_cache(maxsize=4096)
def _used(text: str) -> frozenset[str]:
    items = parsed(text).items if text.lstrip().startswith("use") else ()
    return frozenset(w.text for item in items if isinstance(item, tree.Use) for w in item.names)


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_COMMENT.sub("", text)))


@lru_cache(maxsize=4096)
def parsed(text: str) -> Parsed:
    """The trees of a declaration's text."""
    try:
        _, items = parse_program(text, NAME)
    except Error as error:
        return Parsed((), error)
    return Parsed(tuple(items), None)


def trees(parts: list[Declared]) -> Iterator[tuple[Declared, tree.Tree]]:
    """All items of all parts that parse."""
    for part in parts:
        for item in part.parsed.items:
            yield part, item
