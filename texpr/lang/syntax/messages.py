"""Messages of the parser: the text found, the text expected, and for usual mistakes a suggestion."""

from __future__ import annotations

from typing import NamedTuple

from lark import UnexpectedToken

from texpr.lang.syntax.advice import parse_help
from texpr.lang.syntax.lexer import SourceLexer, SourceToken, Text
from texpr.lang.syntax.words import KEYWORDS
from texpr.support.errors import ParseError
from texpr.support.source import Source, Span

_EXPRESSION = frozenset(
    {"INT", "FLOAT", "REDUCE", "(", "-", "inf", "nan", "true", "false", "not", "if", "NAME"}
)
_OPERATOR = frozenset({"+", "-", "*", "/", "//", "%", "**", "COMPARE", "<", ">", "and", "or"})
_ASSIGN = frozenset({"=", "UPDATE"})
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_EXAMPLE = "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }"


class _Found(NamedTuple):
    """A token. `type` is the text of reserved words and symbols, else Lark's name of the
    terminal, or $END.
    """

    type: str
    text: str
    start: int
    stop: int


def unexpected(error: UnexpectedToken, lexer: SourceLexer, text: Text) -> ParseError:
    """The error for a token that cannot stand where Lark found it."""
    texts = {name: literal for literal, name in lexer.literals.items()}
    expected = {texts.get(name, name) for name in error.accepts}
    before = [_Found(texts.get(t.type, t.type), t.value, t.start_pos, t.end_pos) for t in lexer.tokens(text)]
    end = text.parts[-1][1]
    token = _Found("$END", "", end, end)
    if isinstance(error.token, SourceToken):
        index = next(k for k, t in enumerate(before) if t.start == error.token.start_pos)
        token, before = before[index], before[:index]
    source = text.source
    found = "the end of the text" if token.type == "$END" else f"`{_short(token.text)}`"
    span = Span(source, token.start, max(token.stop, token.start + 1))
    if token.type == "$END" and before:
        span = Span(source, before[-1].stop, before[-1].stop + 1)
    message = f"found {found}, expected {_words(expected)}"
    notes = _open_bracket(source, token, before, expected)
    return ParseError(message, span, notes=notes, help=_help(source, token, before, expected))


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _words(expected: set[str]) -> str:
    """`a name`, `an expression`, `an operator`, then the rest quoted."""
    rest = set(expected)
    words: list[str] = []
    if "INT" in rest and "(" in rest:
        words.append("an expression")
        rest -= _EXPRESSION
    elif "NAME" in rest:
        words.append("a name")
        rest -= {"NAME"}
    if rest >= _ASSIGN:
        rest = (rest - _ASSIGN) | {"="}
    operator = len(rest & _OPERATOR) > 4
    rest -= _OPERATOR if operator else set()
    words += [f"`{symbol}`" if symbol not in _CLASS else _CLASS[symbol] for symbol in sorted(rest)]
    words += ["an operator"] if operator else []
    if len(words) < 2:
        return words[0] if words else "the end"
    return ", ".join(words[:-1]) + " or " + words[-1]


_CLASS = {"STRING": "a path in quotes", "$END": "the end", "REDUCE": "a reduction", "INT": "a number"}


def _open_bracket(source: Source, token: _Found, before: list[_Found], expected: set[str]) -> list[str]:
    stack: list[_Found] = []
    for t in before:
        if t.type in _CLOSER:
            stack.append(t)
        elif t.type in _CLOSER.values() and stack:
            stack.pop()
    if (
        not stack
        or _CLOSER[stack[-1].type] not in expected
        or (stack[-1].type == "{" and token.type != "$END")
    ):
        return []
    line, column = source.position(stack[-1].start)
    return [f"`{stack[-1].text}` was opened at line {line}, column {column}"]


def _help(source: Source, token: _Found, before: list[_Found], expected: set[str]) -> str:
    previous = before[-1] if before else _Found("", "", 0, 0)
    elsewhere = parse_help(token.text, previous.text, [t.text for t in before], expected)
    if elsewhere:
        return elsewhere
    match token.type, previous.type:
        case "=", ":":
            return "an equation is written with `=`"
        case ":", _ if expected >= _ASSIGN and source.text[token.stop : token.stop + 1] == "=":
            return "an equation is written with `=`"
        case "COMPARE", _ if expected >= _ASSIGN and token.text == "==":
            return "an equation is written with `=`; `==` compares"
        case "=", _ if "COMPARE" in expected:
            return "comparison is written with `==`"
        case "|", _:
            return (
                "`|` gives the value outside an array, inside its brackets: X[i - 1 | 0]; bits: bit_or(x, "
                "y); logic: x or y"
            )
        case "[", "]":
            return "all indices stand in one pair of brackets: X[i, j]"
        case ";", _:
            return "statements need no separator; constants come after `;` in an operator's head"
        case _ if "op" in expected:
            return f"an operator looks like: {_EXAMPLE}"
        case word, _ if (
            "NAME" in expected and not expected & {"INT", "+"} and (word in KEYWORDS or word == "REDUCE")
        ):
            return f"`{token.text}` is a reserved word"
        case _ if "else" in expected:
            return "a condition needs both sides: if c then a else b"
        case _ if "UPDATE" in expected and token.type in ("NAME", "}", "$END"):
            return "a statement is an equation such as Y[i] = 2 * X[i]"
    return ""
