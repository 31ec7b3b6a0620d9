"""Lark parses texts of SkriptND: to trees, LALR(1)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from texpr.nnef.syntax.skript_builder import SkriptBuilder
from texpr.nnef.syntax.skript_tree import DEEPEST, Module, Operator, Part
from texpr.nnef.syntax.tree_builder import Refused
from texpr.support.errors import ParseError, ResourceError
from texpr.support.source import Source, Span

MOST_CHARACTERS = 4 << 20
"""Of a text."""
_MOST_NAMED = 6
_WORDS = {
    "NAME": "a name",
    "INTEGER": "a number",
    "REAL": "a number",
    "STRING": "a text in quotes",
    "$END": "the end",
    "TYPE": "a type",
    "OPERATOR": "`operator`",
}


def parse_module(source: Source, name: str) -> Module:
    """The operators of a file.

    Args:
        name: of the module, which is that of its file.
    Raises:
        ParseError: it is no SkriptND, with the place.
        ResourceError: it is longer than the limit.
    """
    found: list[Any] = _parsed(source, "document")
    operators: dict[str, Operator] = {}
    for each in found:
        if isinstance(each, Operator):
            each.source, each.module = source, name
            if each.name in operators:
                raise ParseError(
                    f"`{each.name}` is defined twice", each.span(), code="skriptnd", help="rename one of them"
                )
            operators[each.name] = each
    imports = [n for each in found if isinstance(each, list) for n in each]
    return Module(operators, imports)


def parse_expression(text: str) -> Part:
    """The tree of an expression in a message.

    Raises:
        ParseError: it is none.
    """
    return _parsed(Source("<message>", text), "expr")


def _parsed(source: Source, goal: str) -> Any:
    if len(source.text) > MOST_CHARACTERS:
        raise ResourceError(
            f"{source.name} has {len(source.text):,} characters, the limit is {MOST_CHARACTERS:,}",
            code="skriptnd",
        )
    try:
        found = _lark().parse(source.text, start=goal)
        _check_depth(source, found)
        return found
    except UnexpectedInput as error:
        refusal = _unexpected(source, error)
    except Refused as error:
        refusal = ParseError(
            error.message, Span(source, error.start, error.stop), code="skriptnd", help=error.help
        )
    raise refusal  # without Lark's error, which holds the parser's stack


def _check_depth(source: Source, found: Any) -> None:
    """Refuse what is nested too deep for those who walk through it."""
    waiting: list[tuple[Any, int]] = [(found, 0)]
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting += [(p, depth) for p in part]
        elif isinstance(part, dict):
            waiting += [(p, depth) for p in part.values()]
        elif isinstance(part, Part):
            if depth > DEEPEST:
                raise ParseError(
                    f"nesting deeper than {DEEPEST}",
                    Span(source, part.start, part.stop),
                    code="skriptnd",
                    help="give parts of the expression names in @using",
                )
            waiting += [(getattr(part, n), depth + 1) for n in type(part).__dataclass_fields__]


@cache
def _lark() -> Lark:
    grammar = files("texpr.nnef.syntax").joinpath("skriptnd.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start=["document", "expr"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=SkriptBuilder(),
    )


def _unexpected(source: Source, error: UnexpectedInput) -> ParseError:
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
        expected = set(error.allowed or ())
    names = _named(expected)
    said = f", expected {', '.join(names)}" if 0 < len(names) <= _MOST_NAMED else ", which cannot stand here"
    return ParseError(f"found {found}{said}", Span(source, start, stop), code="skriptnd")


def _named(expected: set[str]) -> list[str]:
    """Tokens that may stand somewhere, in words."""
    literals = {t.name: f"`{t.pattern.value}`" for t in _lark().terminals if t.pattern.type == "str"}
    return sorted({_WORDS.get(n) or literals.get(n, n) for n in expected} - {"WS", "COMMENT"})


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
