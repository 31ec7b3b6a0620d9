"""The grammar has no conflicts, its serialisation is current, and Lark builds the same trees
with and without it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lark import Token

from tests.work import at_most
from texpr.compiler.imports import library_files
from texpr.ir.printing.types import RESERVED
from texpr.lang import parse
from texpr.lang.syntax import parser, serialization, tree
from texpr.lang.syntax.lexer import Text
from texpr.lang.syntax.words import REDUCTIONS
from texpr.support.errors import ParseError
from texpr.support.source import Source

PROGRAM = """fn f(x, y) = if x < -y[i | 0] then (x + 1.5) * 2 else max(k in 0..n where k > 1: g(k, a=x) ** 2)
op g(X: f32[*A:n, 2 * N]) -> () { }"""


@pytest.fixture(scope="module")
def strict():
    return serialization.built(strict=True)


def test_the_serialisation_is_current():
    shipped = Path(serialization.__file__).with_name("parser.json").read_text(encoding="utf-8")
    assert serialization.serialized() == shipped, "run python -m texpr.lang.syntax.serialization"


def test_reserved_words_are_those_of_the_grammar(strict):
    literals = {t.pattern.value for t in strict.terminals if t.pattern.type == "str"}
    assert {word for word in literals if word.isidentifier()} | REDUCTIONS == RESERVED
    reduction = next(t for t in strict.terminals if t.name == "REDUCE")
    types = {word: parser.tokenize(Source("", word))[0].type for word in RESERVED}
    assert {word for word in RESERVED if types[word] == reduction.name} == REDUCTIONS


@pytest.mark.parametrize("path", library_files(), ids=lambda path: path.stem)
def test_a_lexer_of_lark_finds_the_same_tokens(path, strict):
    text = path.read_text(encoding="utf-8")
    found = strict.parse(text, start="program").scan_values(lambda each: isinstance(each, Token))
    assert [(t.type, t.value, t.start_pos, t.end_pos) for t in found] == [
        (t.type, t.value, t.start_pos, t.end_pos) for t in parser.tokenize(Source("", text))
    ]


def test_lark_that_cannot_read_the_serialisation_reads_the_grammar(monkeypatch):
    text = Text(Source("", PROGRAM), [(0, len(PROGRAM))])
    expected = parser.load().parse(text, start="program").value
    monkeypatch.setattr(serialization.Lark, "load", lambda data: data["another form"])
    built = serialization.load_lark()
    assert repr(built.parse(text, start="program").value) == repr(expected)
    assert [type(each) for each in expected] == [tree.Function, tree.Operator]


def test_the_serialisation_is_loaded_with_little_work():
    with at_most(50_000):
        serialization.load_lark()


def test_lark_is_imported_by_the_first_text():
    code = """import sys, texpr.lang, texpr
texpr.op, texpr.schedule, texpr.lang.parse_kernel
assert 'lark' not in sys.modules
texpr.lang.parse('fn f(x) = x')
assert 'lark' in sys.modules"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=True)


def test_threads_parse_at_the_same_time():
    texts = [f"fn f{k}(x) = " + " + ".join(f"x * {k}" for _ in range(200)) for k in range(16)]
    with ThreadPoolExecutor(8) as pool:
        modules = list(pool.map(lambda k: parse(texts[k], f"text {k}"), range(16)))
    assert [next(iter(m.functions)) for m in modules] == [f"f{k}" for k in range(16)]
    names = [f.span.source.name for m in modules for f in m.functions.values()]
    assert names == [f"text {k}" for k in range(16)]


@pytest.mark.parametrize(
    "text, mode",
    [
        ("X[i | clamp]", "clamp"),
        ("X[i | wrap  # around\n]", "wrap"),
        ("X[i | (clamp)]", "value"),
        ("X[i | clamp + 1]", "value"),
        ("X[clamp | 0]", "value"),
    ],
)
def test_words_of_guards_stand_alone_in_brackets(text, mode):
    access = parser.parse_part(Source("", text), "expression")
    assert access.guard.mode == mode and (access.guard.value is None) == (mode != "value")


def test_parentheses_belong_to_what_is_around_them():
    whole = parser.parse_part(Source("", "  (a + b) * c"), "expression")
    assert (whole.span.text, whole.lhs.span.text) == ("(a + b) * c", "a + b")


@pytest.mark.parametrize(
    "text, word",
    [("1.5.2", "1.5.2"), ("2e5.5 + 1", "2e5.5"), ("1e+5x", "1e+5x"), ("12.", "12."), ("3x", "3x")],
)
def test_malformed_numbers_are_shown_whole(text, word):
    with pytest.raises(ParseError, match=re.escape(f"`{word}` is not a number")):
        parser.parse_part(Source("", text), "expression")


def test_an_error_keeps_nothing_of_the_parser():
    with pytest.raises(ParseError) as caught:
        parse("fn f(x) = x +")
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "begin, end",
    [
        ("(", ")"),
        ("g(", ")"),
        ("X[", "]"),
        ("-", ""),
        ("not ", ""),
        ("if x then x else ", ""),
        ("x ** ", ""),
        ("x[i | ", "]"),
        ("x - (", ")"),
        ("(x) - (", ")"),
    ],
)
def test_what_is_closed_is_not_nested(begin, end):
    parse("op f(x: f32) -> y: f32 { y = " + begin * 200 + "x" + end * 200 + " }")
    with pytest.raises(ParseError, match="nesting deeper than 200") as caught:
        parse(text := "op f(x: f32) -> y: f32 { y = " + begin * 201 + "x" + end * 201 + " }")
    assert caught.value.span.start >= text.index("{") + 200 * len(begin)
