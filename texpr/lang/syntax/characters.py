"""Errors about characters and numbers that the language has not, with advice."""

from __future__ import annotations

import re

from texpr.lang.syntax.advice import CHOICE, dotted_help
from texpr.support.errors import ParseError, ResourceError
from texpr.support.options import current
from texpr.support.source import Source, Span

_NUMBER = re.compile(r"[0-9][A-Za-z0-9_]*(?:\.(?!\.)[A-Za-z0-9_]*)*(?:(?<=[eE])[+-][A-Za-z0-9_]+)?")
_FACTOR = re.compile(
    r"([1-9][0-9]*(?:\.[0-9]+)?)(?!(?:[fFlLuUeEjJ]|[iu](?:8|16|32|64)|b?f(?:16|32|64))[0-9]*$)([A-Za-z][A-Za-z0-9_]*)"
)
# Controls of terminals, surrogates, and marks that change the direction in which text is shown.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_LOOKALIKE = {
    "×": "*",
    "·": "*",
    "÷": "/",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "∞": "inf",
    "∑": "sum",
    "‖": "|",
    "…": "..",
}
_QUALIFIED = re.compile(r"([A-Za-z_]\w*|[\])])$")
_FOLLOWING = re.compile(r"\.(\w*)")


def as_source(text: str, name: str) -> Source:
    """The text as a source, without a byte order mark.

    Raises:
        ResourceError: the text is too long.
        ParseError: a character must not even be printed.
    """
    limit = current().text_limit
    if len(text) > limit:
        raise ResourceError(
            f"the text has {len(text)} characters; at most {limit} are read",
            help="tx.options(text_limit=...) changes that",
        )
    text = text.removeprefix("\ufeff")
    found = _UNPRINTABLE.search(text)
    if found is None:
        return Source(name, text)
    printable = Source(name, _UNPRINTABLE.sub("\ufffd", text))
    raise ParseError(
        f"the character U+{ord(found.group()):04X} is not allowed anywhere in a text",
        Span(printable, found.start(), found.end()),
    )


def unreadable(source: Source, position: int) -> ParseError:
    """The error for a place where no token begins."""
    found = _NUMBER.match(source.text, position)
    return _strange(source, position) if found is None else _malformed(source, found)


def _malformed(source: Source, found: re.Match[str]) -> ParseError:
    word = found.group()
    hint = "numbers look like 12, 0.5 or 1e-5"
    if factor := _FACTOR.fullmatch(word):
        hint = f"a product is written with `*`: {factor[1]} * {factor[2]}"
    elif word.endswith(".") and word[:-1].isdecimal():
        hint = f"write {word}0"
    return ParseError(f"`{word}` is not a number", Span(source, found.start(), found.end()), help=hint)


def _strange(source: Source, position: int) -> ParseError:
    c = source.text[position]
    span = Span(source, position, position + 1)
    if source.text.startswith("...", max(position - 2, 0)):
        return ParseError(
            "`...` is not part of the language",
            Span(source, position - 2, position + 1),
            help="any number of dimensions is a pack: f32[*S, N]",
        )
    if c == "." and (called := _QUALIFIED.search(source.text, 0, position)):
        following = _FOLLOWING.match(source.text, position)
        return ParseError(
            "found `.` behind a name", span, help=dotted_help(called[1], following[1] if following else "")
        )
    if c == ".":
        return ParseError(
            "found `.` where no number is",
            span,
            help="a number needs digits on both sides: 0.5; a range has two dots: 0..N",
        )
    if c == "!":
        return ParseError("found `!`", span, help="negation is `not x`, inequality `x != y`")
    if c == "^":
        return ParseError("found `^`", span, help="a power is written x ** y; exclusive or is bit_xor(x, y)")
    if c in "&~":
        return ParseError(
            f"found `{c}`",
            span,
            help="bit operations are functions: bit_and(x, y), bit_or, bit_xor; logic is `and`, `or`, `not`",
        )
    if c == "@":
        return ParseError(
            "found `@`", span, help="a matrix product is a sum: C[i, j] = sum(k: A[i, k] * B[k, j])"
        )
    if c == "?":
        sized = source.text[:position].rstrip().endswith(("[", ","))
        return ParseError("found `?`", span, help="sizes have names: f32[N]" if sized else CHOICE)
    if c.isascii():
        return ParseError(f"the character `{c}` (U+{ord(c):04X}) is not part of the language", span)
    meant = _LOOKALIKE.get(c)
    return ParseError(
        f"the character U+{ord(c):04X} is not part of the language",
        span,
        help=f"write {meant}"
        if meant
        else "names and operators are ASCII; any language may stand in comments",
    )
