"""A lexer for Lark: the terminals of the grammar as one regular expression. Tokens know their
source.

Lark's contextual lexer tries only terminals that may follow. It would take `==` in the place of `=`
for two tokens, and messages would be about the second one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lark import Token
from lark.lexer import Lexer

from texpr.lang.syntax.characters import unreadable
from texpr.support.errors import ParseError
from texpr.support.source import Source, Span

MAX_NESTING = 200
_OPENING = frozenset({"(", "[", "if", "not", "**", "-"})
_CLOSING = frozenset({")", "]"})


class Text(NamedTuple):
    """The input of the lexer: parts of a source."""

    source: Source
    parts: list[tuple[int, int]]


class SourceToken(Token):
    """A token that knows its source, which knows lines and columns."""

    __slots__ = ("source",)

    source: Source
    start_pos: int
    end_pos: int
    line = column = end_line = end_column = None

    def __new__(cls, type: str, text: str, source: Source, start: int) -> SourceToken:
        token = str.__new__(cls, text)
        token.type = type
        token.value = text
        token.source = source
        token.start_pos = start
        token.end_pos = start + len(text)
        return token

    @property
    def span(self) -> Span:
        return Span(self.source, self.start_pos, self.end_pos)


class SourceLexer(Lexer):
    """The lexer of the language.

    Attributes:
        literals: reserved words and symbols, with the names that Lark gives to them.
    """

    __future_interface__ = 2

    def __init__(self, conf: Any) -> None:
        literals = (t for t in conf.terminals if t.pattern.type == "str")
        self.literals: dict[str, str] = {t.pattern.value: t.name for t in literals}
        named = sorted((t for t in conf.terminals if t.pattern.type == "re"), key=lambda t: -t.priority)
        symbols = sorted((s for s in self.literals if not s.isidentifier()), key=len, reverse=True)
        patterns = [*(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in named), *map(re.escape, symbols)]
        self._match = re.compile("|".join(patterns)).match
        self._ignored = frozenset(conf.ignore)

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """The tokens of a `Text`. All are made before the parser sees the first one.

        Raises:
            ParseError: no token begins at some place, or brackets and prefixes nest too deep.
        """
        stack = parser_state.value_stack
        for token in self.tokens(lexer_state.text):
            yield token
            if len(stack) > MAX_NESTING and token.value in _OPENING:
                _check_nesting(stack)

    def tokens(self, text: Text) -> list[SourceToken]:
        """All tokens of a text.

        Raises:
            ParseError: no token begins at some place.
        """
        source, match, literals = text.source, self._match, self.literals
        found: list[SourceToken] = []
        for position, stop in text.parts:
            while position < stop:
                matched = match(source.text, position, stop)
                if matched is None:
                    raise unreadable(source, position)
                kind = matched.lastgroup or ""
                if kind not in self._ignored:
                    word = matched.group()
                    found.append(SourceToken(literals.get(word, kind), word, source, position))
                position = matched.end()
        return found


def _check_nesting(stack: list[Any]) -> None:
    """Count the open brackets and prefixes on the parser's stack."""
    depth = 0
    for k, token in enumerate(stack):
        if isinstance(token, SourceToken):
            infix = token.value == "-" and k > 0 and not isinstance(stack[k - 1], SourceToken)
            depth += (token.value in _OPENING and not infix) - (token.value in _CLOSING)
            if depth > MAX_NESTING:
                span = Span(token.source, token.start_pos, token.start_pos + 1)
                raise ParseError(
                    f"nesting deeper than {MAX_NESTING}",
                    span,
                    help="give parts of the expression names with equations of their own",
                )
