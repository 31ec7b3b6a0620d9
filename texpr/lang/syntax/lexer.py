"""Text to tokens. What is not in the language at all is refused here: strange characters, malformed numbers, deep brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

from texpr.ir.printing.types import RESERVED
from texpr.lang.syntax.advice import CHOICE, dotted_help
from texpr.support.errors import ParseError, ResourceError
from texpr.support.options import current
from texpr.support.source import Source, Span

MAX_NESTING = 200
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "argmax", "argmin", "any", "all"})
GUARD_WORDS = frozenset({"clamp", "wrap", "reflect", "drop"})
KEYWORDS = RESERVED - REDUCTIONS
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+|\#[^\n]*)"
    r"|(?P<update>(?:max|min)=(?!=))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>[0-9][A-Za-z0-9_]*(?:\.(?!\.)[A-Za-z0-9_]*)?(?:(?<=[eE])[+-][0-9]+)?)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<symbol>->|\.\.|\*\*|//|<=|>=|==|!=|\+=|\*=|[()\[\]{}<>,:;=|+\-*/%])"
)
_FLOAT = re.compile(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+")
_INT = re.compile(r"[0-9]+")
_FACTOR = re.compile(r"([1-9][0-9]*(?:\.[0-9]+)?)(?!(?:[fFlLuUeEjJ]|[iu](?:8|16|32|64)|b?f(?:16|32|64))[0-9]*$)([A-Za-z][A-Za-z0-9_]*)")
# Controls of terminals, surrogates, and marks that change the direction in which text is shown.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LOOKALIKE = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "∞": "inf",
              "∑": "sum", "‖": "|", "“": "", "”": "", "…": ".."}


class Token(NamedTuple):
    """`type` is the text of keywords and symbols, else NAME INT FLOAT STRING REDUCE GUARD UPDATE COMPARE, or $END."""

    type: str
    text: str
    start: int
    stop: int


def as_source(text: str, name: str) -> Source:
    """The text as a source without a byte order mark; refused if too long or if it holds what must not even be printed."""
    limit = current().text_limit
    if len(text) > limit:
        raise ResourceError(f"the text has {len(text)} characters; at most {limit} are read",
                            help="tx.options(text_limit=...) changes that")
    text = text.removeprefix("\ufeff")
    found = _UNPRINTABLE.search(text)
    if found is None:
        return Source(name, text)
    printable = Source(name, _UNPRINTABLE.sub("\ufffd", text))
    raise ParseError(f"the character U+{ord(found.group()):04X} is not allowed anywhere in a text",
                     Span(printable, found.start(), found.end()))


def tokenize(source: Source, start: int = 0, stop: int | None = None) -> list[Token]:
    """The tokens of a part of the source, ending with `$END`."""
    text, stop = source.text, len(source.text) if stop is None else stop
    tokens: list[Token] = []
    position = start
    while position < stop:
        found = _TOKEN.match(text, position, stop)
        if found is None:
            raise _strange(source, position)
        begin, position = position, found.end()
        kind = found.lastgroup
        if kind == "space":
            continue
        word = found.group()
        if kind == "number":
            kind = _number(source, word, begin)
        tokens.append(Token(_type(str(kind), word), word, begin, position))
    tokens.append(Token("$END", "", stop, stop))
    return tokens


def _type(kind: str, word: str) -> str:
    match kind:
        case "word" if word in REDUCTIONS:
            return "REDUCE"
        case "word":
            return word if word in KEYWORDS else "NAME"
        case "update":
            return "UPDATE"
        case "string":
            return "STRING"
        case "symbol" if word in ("+=", "*="):
            return "UPDATE"
        case "symbol" if word in ("<=", ">=", "==", "!="):
            return "COMPARE"
        case "symbol":
            return word
    return kind


def _number(source: Source, word: str, begin: int) -> str:
    if _FLOAT.fullmatch(word):
        return "FLOAT"
    if _INT.fullmatch(word):
        return "INT"
    hint = "numbers look like 12, 0.5 or 1e-5"
    if factor := _FACTOR.fullmatch(word):
        hint = f"a product is written with `*`: {factor[1]} * {factor[2]}"
    elif word.endswith(".") and _INT.fullmatch(word[:-1]):
        hint = f"write {word}0"
    raise ParseError(f"`{word}` is not a number", Span(source, begin, begin + len(word)), help=hint)


def too_deep(source: Source, begin: int) -> ParseError:
    """The text nests deeper than anyone writes."""
    return ParseError(f"nesting deeper than {MAX_NESTING}", Span(source, begin, begin + 1),
                      help="give parts of the expression names with equations of their own")


_QUALIFIED = re.compile(r"([A-Za-z_]\w*|[\])])$")
_FOLLOWING = re.compile(r"\.(\w*)")


def _strange(source: Source, position: int) -> ParseError:
    c = source.text[position]
    span = Span(source, position, position + 1)
    if source.text.startswith("...", max(position - 2, 0)):
        return ParseError("`...` is not part of the language", Span(source, position - 2, position + 1),
                          help="any number of dimensions is a pack: f32[*S, N]")
    if c == "." and (called := _QUALIFIED.search(source.text, 0, position)):
        following = _FOLLOWING.match(source.text, position)
        return ParseError("found `.` behind a name", span, help=dotted_help(called[1], following[1] if following else ""))
    if c == ".":
        return ParseError("found `.` where no number is", span, help="a number needs digits on both sides: 0.5; a range has two dots: 0..N")
    if c == "!":
        return ParseError("found `!`", span, help="negation is `not x`, inequality `x != y`")
    if c == "^":
        return ParseError("found `^`", span, help="a power is written x ** y; exclusive or is bit_xor(x, y)")
    if c in "&~":
        return ParseError(f"found `{c}`", span,
                          help="bit operations are functions: bit_and(x, y), bit_or, bit_xor; logic is `and`, `or`, `not`")
    if c == "@":
        return ParseError("found `@`", span, help="a matrix product is a sum: C[i, j] = sum(k: A[i, k] * B[k, j])")
    if c == "?":
        sized = source.text[:position].rstrip().endswith(("[", ","))
        return ParseError("found `?`", span, help="sizes have names: f32[N]" if sized else CHOICE)
    if c.isascii():
        return ParseError(f"the character `{c}` (U+{ord(c):04X}) is not part of the language", span)
    meant = _LOOKALIKE.get(c)
    return ParseError(f"the character U+{ord(c):04X} is not part of the language", span,
                      help=f"write {meant}" if meant else "names and operators are ASCII; any language may stand in comments")
