"""Lark parses texts: tokens to syntax trees, LALR(1), with one stack and no recursion."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from texpr.lang.syntax.characters import as_source
from texpr.lang.syntax.definitions import needed
from texpr.lang.syntax.tree import Tree
from texpr.support.errors import ParseError
from texpr.support.source import Source, Span

if TYPE_CHECKING:
    from lark import Lark

    from texpr.lang.syntax.lexer import SourceLexer, SourceToken


@cache
def load() -> Lark:
    """Lark with the grammar, once in a process: 17 ms for Lark itself, 8 ms for the grammar."""
    # Programs that read no text do without Lark.
    from texpr.lang.syntax.serialization import load_lark

    return load_lark()


def parse_program(text: str, name: str, only: str | None = None) -> tuple[Source, list[Tree]]:
    """The operators and functions of a text, or those that one of them needs."""
    source = as_source(text, name)
    items = _parsed(source, "program", [(0, len(source.text))] if only is None else needed(source.text, only))
    if not items:
        raise ParseError(
            "empty program",
            Span(source, 0, 0),
            help="an operator looks like: op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }",
        )
    return source, items


def parse_part(source: Source, goal: str, start: int = 0, stop: int | None = None) -> Any:
    """A part of a source as one of the goals of the grammar."""
    return _parsed(source, goal, [(start, len(source.text) if stop is None else stop)])


def tokenize(source: Source, start: int = 0, stop: int | None = None) -> list[SourceToken]:
    """The tokens of a part of a source."""
    from texpr.lang.syntax.lexer import Text

    return _lexer().tokens(Text(source, [(start, len(source.text) if stop is None else stop)]))


def _parsed(source: Source, goal: str, parts: list[tuple[int, int]]) -> Any:
    from lark import UnexpectedToken

    from texpr.lang.syntax.lexer import Text
    from texpr.lang.syntax.messages import unexpected

    text = Text(source, parts)
    try:
        return load().parse(text, start=goal).value  # type: ignore[attr-defined]
    except UnexpectedToken as error:
        refusal = unexpected(error, _lexer(), text)
    raise refusal  # without Lark's error, which holds the parser's stack


def _lexer() -> SourceLexer:
    return cast("SourceLexer", load().parser.lexer)
