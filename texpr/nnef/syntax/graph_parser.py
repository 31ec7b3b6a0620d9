"""Texts of NNEF 1.0 become trees."""

from __future__ import annotations

from texpr.nnef.syntax.graph_tree import Call, Document, Fragment
from texpr.nnef.syntax.text_language import Language
from texpr.nnef.syntax.tree_builder import TreeBuilder
from texpr.support.errors import CheckpointError
from texpr.support.source import Source

MOST_CHARACTERS = 32 << 20
"""Of a text."""
_WORDS = {
    "NUMBER": "a number",
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
    "LPAR",
    "LSQB",
}
_OPERATOR = {"COMPARE", "LOGIC", "PLUS", "MINUS", "TIMES", "POWER", "IN", "LESSTHAN", "MORETHAN"}
_LANGUAGE = Language(
    grammar="nnef_1.lark",
    goals=("document", "declarations", "quantization"),
    builder=TreeBuilder,
    error=CheckpointError,
    code="nnef",
    most_characters=MOST_CHARACTERS,
    words=_WORDS,
    groups={
        "an expression": ({"NUMBER", "STRING"}, _EXPRESSION),
        "an operator": ({"PLUS", "TIMES"}, _OPERATOR),
    },
)


def parse_document(source: Source) -> Document:
    """The tree of a graph's file.

    Raises:
        CheckpointError: it is no NNEF 1.0, with the place.
        ResourceError: it is longer than the limit.
    """
    document: Document = _LANGUAGE.parse(source, "document")
    document.source = source
    for fragment in document.fragments:
        fragment.source = source
    return document


def parse_quantization(source: Source) -> list[tuple[str, Call]]:
    """The entries of a file `graph.quant`: names of tensors, and calls without these.

    Raises:
        CheckpointError: it is no such file, with the place.
        ResourceError: it is longer than the limit.
    """
    return _LANGUAGE.parse(source, "quantization")


def parse_declarations(source: Source) -> list[Fragment]:
    """The fragments of a text that has no graph."""
    found: list[Fragment] = _LANGUAGE.parse(source, "declarations")
    for fragment in found:
        fragment.source = source
    return found
