"""Lark parses texts of NNEF 1.0: to trees, LALR(1), with one stack and no recursion."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from texpr.nnef.syntax.graph_tree import Document, Fragment
from texpr.nnef.syntax.tree_builder import Refused, TreeBuilder
from texpr.support.errors import CheckpointError, ResourceError
from texpr.support.source import Source, Span

MOST_CHARACTERS = 32 << 20
"""Of a text."""
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "$END": "the end",
    "GENERIC": "an operation with its type",
    "COMPARE": "a comparison",
    "LOGIC": "`&&` or `||`",
    "PLUS": "`+`",
    "MINUS": "`-`",
    "TIMES": "`*` or `/`",
    "POWER": "`^`",
    "NOT": "`!`",
    "IN": "`in`",
    "TRUE": "`true`",
    "FALSE": "`false`",
}
_EXPRESSION = {
    "NAME",
    "NUMBER",
    "STRING",
    "INTEGER",
    "SCALAR",
    "LOGICAL",
    "TEXT",
    "COMPLEX",
    "GENERIC",
    "PLUS",
    "MINUS",
    "NOT",
    "TRUE",
    "FALSE",
}
_OPERATOR = {"COMPARE", "LOGIC", "PLUS", "MINUS", "TIMES", "POWER", "IN", "LESSTHAN", "MORETHAN"}


def parse_document(source: Source) -> Document:
    """The tree of a graph's file.

    Raises:
        CheckpointError: it is no NNEF 1.0, with the place.
        ResourceError: it is longer than the limit.
    """
    document: Document = _parsed(source, "document")
    document.source = source
    for fragment in document.fragments:
        fragment.source = source
    return document


def parse_declarations(source: Source) -> list[Fragment]:
    """The fragments of a text that has no graph."""
    found: list[Fragment] = _parsed(source, "declarations")
    for fragment in found:
        fragment.source = source
    return found


def _parsed(source: Source, goal: str) -> Any:
    if len(source.text) > MOST_CHARACTERS:
        raise ResourceError(
            f"{source.name} has {len(source.text):,} characters, the limit is {MOST_CHARACTERS:,}",
            code="nnef",
        )
    try:
        return _lark().parse(source.text, start=goal)
    except UnexpectedInput as error:
        refusal = _unexpected(source, error)
    except Refused as error:
        refusal = CheckpointError(
            error.message, Span(source, error.start, error.stop), code="nnef", help=error.help
        )
    raise refusal  # without Lark's error, which holds the parser's stack


@cache
def _lark() -> Lark:
    grammar = files("texpr.nnef.syntax").joinpath("nnef_1.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["document", "declarations"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )


def _unexpected(source: Source, error: UnexpectedInput) -> CheckpointError:
    """The error for a text that cannot stand where it was found."""
    start = stop = error.pos_in_stream or 0
    expected: set[str] = set()
    if isinstance(error, UnexpectedToken):
        token: Token = error.token
        ended = token.type == "$END"
        found = "the end of the text" if ended else f"`{_short(token.value)}`"
        start = len(source.text) if ended else token.start_pos or 0
        stop = start + max(1, 0 if ended else len(token.value))
        expected = set(error.accepts)
    else:
        assert isinstance(error, UnexpectedCharacters)
        found, stop = f"`{source.text[start : start + 1]}`", start + 1
    names = ", ".join(_named(expected))
    message = f"found {found}" + (f", expected {names}" if names else ", which begins nothing of NNEF 1.0")
    return CheckpointError(message, Span(source, start, stop), code="nnef")


def _named(expected: set[str]) -> list[str]:
    """Tokens that may stand somewhere, in words."""
    words, rest = [], set(expected)
    if {"NUMBER", "STRING"} <= rest:
        words, rest = ["an expression"], rest - _EXPRESSION - {"LPAR", "LSQB"}
    if {"PLUS", "TIMES"} <= rest:
        words, rest = [*words, "an operator"], rest - _OPERATOR
    literals = {t.name: f"`{t.pattern.value}`" for t in _lark().terminals if t.pattern.type == "str"}
    return [*words, *sorted(_WORDS.get(n) or literals.get(n, n) for n in rest)]


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
