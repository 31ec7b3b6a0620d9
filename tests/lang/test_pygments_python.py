"""The lexer for Python with operators in it: the operators' words, and all else as Python's lexer
has it.
"""

from __future__ import annotations

import pytest

from tests.repo.source import ROOT

pytest.importorskip("pygments")

from pygments.lexers.python import PythonLexer  # noqa: E402
from pygments.token import Comment, Keyword, Name, String  # noqa: E402

from texpr.lang.pygments_lexer import TexprLexer  # noqa: E402
from texpr.lang.pygments_python import TexprPythonLexer  # noqa: E402

KEPT = {"stripnl": False, "ensurenl": False}
OPERATOR = "op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) % 2 }  # it's %s"


def tokens(text: str, lexer: type = TexprPythonLexer) -> list[tuple[object, str]]:
    return list(lexer(**KEPT).get_tokens(text))


@pytest.mark.parametrize("quote", ['"""', "'''", '"'])
@pytest.mark.parametrize("prefix", ["", "r", "R", "u"])
@pytest.mark.parametrize("before", ["", " ", "\n    ", "  # c\n"])
def test_the_first_argument_is_texpr(quote: str, prefix: str, before: str):
    found = tokens(f"f = tx.op({before}{prefix}{quote}{OPERATOR}{quote}, name='op')\n")
    inside = [(kind, word) for kind, word in TexprLexer(**KEPT).get_tokens(OPERATOR) if word.strip()]
    kept = [(kind, word) for kind, word in found if word.strip()]
    begin = kept.index((Keyword.Declaration, "op"))
    assert kept[begin : begin + len(inside)] == inside
    assert (String.Single, "op") in kept[begin + len(inside) :]


@pytest.mark.parametrize(
    "text", [f'tx.op(f"{OPERATOR}")', f'tx.op(b"{OPERATOR}")', f'op("{OPERATOR}")', f'tx.load("{OPERATOR}")',
             f'x.tx("{OPERATOR}")', 'tx.op(name="op f")', "tx.op", "tx.op(", "tx."]
)  # fmt: skip
def test_other_strings_stay(text: str):
    assert tokens(text) == tokens(text, PythonLexer)


def test_other_names_of_the_module_and_strings_of_parts():
    found = tokens("import texpr as t\nt.op('op f(X: f32[N]) -> Y: f32[N] '\n     '{ Y[i] = X[i] }\\n# e')")
    assert found.count((Keyword.Type, "f32")) == 2 and (String.Escape, "\\n") in found
    assert (Comment.Single, "# e") in found and (Name.Function, "f") in found


@pytest.mark.parametrize(
    "text", ['tx.op("""op f', "tx.op('op f\nx = 1", 'tx.op("")', 'tx.op("""""")', "tx.op('')"]
)
def test_half_typed_strings(text: str):
    assert "".join(word for _, word in tokens(text)) == text


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_no_character_is_lost(path):
    text = path.read_text(encoding="utf-8")
    assert "".join(word for _, word in tokens(text)) == text
