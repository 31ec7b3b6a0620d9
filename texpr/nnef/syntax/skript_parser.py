"""Texts of SkriptND become trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from texpr.nnef.syntax.skript_builder import SkriptBuilder
from texpr.nnef.syntax.skript_tree import Module, Operator, Part, Typed
from texpr.nnef.syntax.text_language import Language
from texpr.support.errors import ParseError
from texpr.support.source import Source
from texpr.support.spelling import suggestion

MOST_CHARACTERS = 4 << 20
"""Of a text."""
TYPES = ("real", "int", "bool", "str")
"""Element types that a declaration may name."""
_LANGUAGE = Language(
    grammar="skriptnd.lark",
    goals=("document", "expr"),
    builder=SkriptBuilder,
    error=ParseError,
    code="skriptnd",
    most_characters=MOST_CHARACTERS,
    words={"INTEGER": "a number", "REAL": "a number", "TYPE": "a type", "OPERATOR": "`operator`"},
    groups={},
)


def parse_module(source: Source, name: str) -> Module:
    """The operators of a file.

    Args:
        name: of the module, which is that of its file.
    Raises:
        ParseError: it is no SkriptND, or names an element type that is not there, with the place.
        ResourceError: it is longer than the limit.
    """
    found: list[Any] = _LANGUAGE.parse(source, "document")
    operators: dict[str, Operator] = {}
    for each in found:
        if isinstance(each, Operator):
            each.source, each.module = source, name
            _check_types(each)
            if each.name in operators:
                raise ParseError(
                    f"`{each.name}` is defined twice", each.span(), code="skriptnd", help="rename one of them"
                )
            operators[each.name] = each
    imports = [n for each in found if isinstance(each, list) for n in each]
    return Module(operators, imports)


def _check_types(operator: Operator) -> None:
    """Every declaration names an element type: one of the language, or one of `@dtype`.

    Raises:
        ParseError: with the place of the first that does not.
    """
    known = [*TYPES, *(k.name for k in operator.block("dtype"))]
    for each in _types_in(operator.blocks):
        if each.name not in known:
            raise ParseError(
                f"there is no element type `{each.name}`",
                operator.span(each),
                code="skriptnd",
                help=suggestion(each.name, known) or f"element types are {', '.join(known)}",
            )


def _types_in(blocks: object) -> Iterator[Typed]:
    """Declared types, in the order of the text."""
    waiting = [blocks]
    while waiting:
        held = waiting.pop()
        if isinstance(held, Typed):
            yield held
        elif isinstance(held, Part):
            waiting += [getattr(held, n) for n in reversed(type(held).__match_args__)]
        elif isinstance(held, dict):
            waiting += reversed(held.values())
        elif isinstance(held, (list, tuple)):
            waiting += reversed(held)


def parse_expression(text: str) -> Part:
    """The tree of an expression in a message.

    Raises:
        ParseError: it is none.
    """
    return _LANGUAGE.parse(Source("<message>", text), "expr")
