"""Texts of SkriptND become trees."""

from __future__ import annotations

from typing import Any

from texpr.nnef.syntax.skript_builder import SkriptBuilder
from texpr.nnef.syntax.skript_tree import Module, Operator, Part
from texpr.nnef.syntax.text_language import Language
from texpr.support.errors import ParseError
from texpr.support.source import Source

MOST_CHARACTERS = 4 << 20
"""Of a text."""
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
        ParseError: it is no SkriptND, with the place.
        ResourceError: it is longer than the limit.
    """
    found: list[Any] = _LANGUAGE.parse(source, "document")
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
    return _LANGUAGE.parse(Source("<message>", text), "expr")
