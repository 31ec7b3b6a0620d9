"""The lexer for Pygments: the words of the grammar, and no text that it changes or stumbles
over.
"""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.metadata import entry_points

import pytest

import texpr as tx
from tests.repo.source import ROOT
from texpr.compiler.imports import library_files
from texpr.ir.printing.types import RESERVED
from texpr.lang.syntax.words import GUARD_WORDS, REDUCTIONS

pytest.importorskip("pygments")

from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String  # noqa: E402

from texpr.lang.pygments_lexer import CONSTANTS, DECLARATIONS, TexprLexer  # noqa: E402

GRAMMAR = (ROOT / "texpr" / "lang" / "syntax" / "grammar.lark").read_text(encoding="utf-8")
KEPT = {"stripnl": False, "ensurenl": False}


def tokens(text: str) -> list[tuple[object, str]]:
    """Kinds and texts, space aside."""
    return [(kind, word) for kind, word in TexprLexer(**KEPT).get_tokens(text) if word.strip()]


def test_the_words_are_those_of_the_grammar():
    keywords = set(re.findall(r'"([a-z]+)"', GRAMMAR))
    assert len(keywords) > 15 and keywords == RESERVED - REDUCTIONS
    for word in keywords:
        kind = tokens(f"{word} x")[0][0]
        assert kind in Keyword, word
        assert (kind is Keyword.Constant) == (word in CONSTANTS)
        assert (kind is Keyword.Declaration) == (word in DECLARATIONS)
    for word in REDUCTIONS:
        assert tokens(f"{word}(i: 1)")[0] == tokens(f"{word}<f32>(i: 1)")[0] == (Name.Builtin, word)
    for word in GUARD_WORDS:
        assert (Keyword.Pseudo, word) in tokens(f"X[i | {word}]") and (Name, word) in tokens(f"X[{word}]")


@pytest.mark.parametrize("path", library_files(), ids=lambda path: path.name)
def test_the_library_is_read_to_the_last_character(path):
    text = path.read_text(encoding="utf-8")
    found = list(TexprLexer(**KEPT).get_tokens(text))
    assert "".join(word for _, word in found) == text and not [word for kind, word in found if kind in Error]


def test_an_operator():
    text = 'use "a.tx": f\nop g<T: float>(X: T[N]) -> y: T { y = sum(i: 1.5 * X[i]) # all\n y max= exp(2) }'
    assert tokens(text) == [
        (Keyword.Declaration, "use"),
        (String.Double, '"a.tx"'),
        *punctuated(":"),
        (Name, "f"),
        (Keyword.Declaration, "op"),
        (Name.Function, "g"),
        (Operator, "<"),
        (Name, "T"),
        *punctuated(":"),
        (Name, "float"),
        (Operator, ">"),
        *punctuated("("),
        (Name, "X"),
        *punctuated(":"),
        (Name, "T"),
        *punctuated("["),
        (Name, "N"),
        *punctuated("]", ")"),
        (Operator, "->"),
        (Name, "y"),
        *punctuated(":"),
        (Name, "T"),
        *punctuated("{"),
        (Name, "y"),
        (Operator, "="),
        (Name.Builtin, "sum"),
        *punctuated("("),
        (Name, "i"),
        *punctuated(":"),
        (Number.Float, "1.5"),
        (Operator, "*"),
        (Name, "X"),
        *punctuated("["),
        (Name, "i"),
        *punctuated("]", ")"),
        (Comment.Single, "# all"),
        (Name, "y"),
        (Operator, "max="),
        (Name.Function, "exp"),
        *punctuated("("),
        (Number.Integer, "2"),
        *punctuated(")", "}"),
    ]


def punctuated(*marks: str) -> list[tuple[object, str]]:
    return [(kind, mark) for mark in marks for kind, _ in tokens(mark)]


def test_a_listing():
    copy = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }")
    found = tokens(str(tx.schedule(copy, N=64).split("i", 8).vectorize("ii")))
    assert found[:2] == [(Keyword.Declaration, "kernel"), (Name.Function, "f")]
    assert (Name.Variable, "Y.io") in found and (Keyword.Pseudo, "vector") in found


@pytest.mark.parametrize(
    "kind",
    ["parallel", "block.x", "scalable.2", "multicast.xy", "instruction.warp_max_f32", "bulk_copy", "bulk"],
)
def test_kinds_of_loops(kind: str):
    assert (Keyword.Pseudo, kind) in tokens(f"for Y.0.i in 0..N // 2 {kind}  # why")
    after = tokens(f"for i in 0..2 {kind}\nvector = bulk")[-3:]
    assert after == [(Name, "vector"), (Operator, "="), (Name, "bulk")]


def test_pygments_finds_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = project["entry-points"]["pygments.lexers"]
    entry = entries["texpr"]
    module, name = entry.split(":")
    assert getattr(import_module(module), name) is TexprLexer
    for alias, place in entries.items():
        module, name = place.split(":")
        assert alias in getattr(import_module(module), name).aliases
    for installed in entry_points(group="pygments.lexers", name="texpr"):
        assert installed.value == entry
