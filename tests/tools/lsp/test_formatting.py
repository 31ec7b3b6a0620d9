"""Formatting: the printer's layout, and nothing that the user wrote changes but space."""

from __future__ import annotations

from pathlib import Path

import pytest

import texpr as tx
from tests.repo.source import ROOT
from texpr.compiler.imports import library_files
from texpr.ir.printing.tensor import show_program
from texpr.tools.lsp.diagnostics import Edit, differences
from texpr.tools.lsp.documents import Document
from texpr.tools.lsp.formatting import _essence, formatted
from texpr.tools.lsp.navigation import changed
from texpr.tools.lsp.session import Session, format_document

EXAMPLES = sorted((ROOT / "examples" / "operators").glob("*.tx"))
FILES = [*EXAMPLES, *library_files()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_texts_of_the_printer_stay(path: Path):
    operators = vars(tx.load(path, prove=False))
    free = [op for op in operators.values() if not any(c.required for c in op.signature.constants)]
    for op in free:
        text = show_program(op.program(), with_callees=True)
        assert formatted(text) == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_space_changes(path: Path):
    text = path.read_text(encoding="utf-8")
    once = formatted(text)
    assert _essence(once) == _essence(text) and formatted(once) == once
    edits = [Edit(*d) for d in differences(text, once)]
    assert changed(text, edits) == once


BEFORE = """# head


# of f
op  f<T:float>( X:T[*S,(C,H)],k:i32[N]in 0..N distinct,b:T=0;axis=1,eps:f32=1e-5 )
      ->  Y : T[N] # out
   require N>=1,# why
   axis<2
{
# first

  let Z:T[N]   Z[i]=-X[*s,(c,h)]**-2  for i in 1..N where i%2==0 # z


    # before y
  Y[i]=if Z[i]<0 then sum<f32>(*s,k in 0..2*N where k<i:Z[k|0])else g(Z,axis=2)
       +max(Z[i],-1)
  Y[i]max=1 }  # end
fn g(v)=v/ 2   fn h(v)=not v
use "a.tx":p,q
extern op e(X:f32[*A:2])->Y:f32[N]
op one(X:f32[N])->Y:f32[N]{Y[i]=X[i]}
op half(X: f32[N) -> {
    Y[i]=1
# tail
"""
AFTER = """# head


# of f
op f<T: float>(X: T[*S, (C, H)], k: i32[N] in 0..N distinct, b: T = 0; axis = 1, eps: f32 = 1e-5)
      -> Y: T[N]  # out
   require N >= 1,  # why
   axis < 2
   {
  # first
  let Z: T[N]
  Z[i] = -X[*s, (c, h)] ** -2  for i in 1..N  where i % 2 == 0  # z

  # before y
  Y[i] = if Z[i] < 0 then sum<f32>(*s, k in 0..2 * N where k < i: Z[k | 0]) else g(Z, axis=2)
       + max(Z[i], -1)
  Y[i] max= 1
}  # end
fn g(v) = v / 2
fn h(v) = not v
use "a.tx": p, q
extern op e(X: f32[*A:2]) -> Y: f32[N]
op one(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }
op half(X: f32[N) -> {
    Y[i]=1
# tail
"""


def test_a_text_with_everything():
    assert formatted(BEFORE) == AFTER
    assert formatted(AFTER) == AFTER


def test_a_body_that_is_too_wide_or_has_two_statements_gets_lines():
    two = "op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = X[i] Z[i] = X[i] }\n"
    assert formatted(two) == (
        "op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) {\n  Y[i] = X[i]\n  Z[i] = X[i]\n}\n"
    )
    wide = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = " + " + ".join(["X[i]"] * 12) + " }\n"
    assert formatted(wide).count("\n") == 3


@pytest.mark.parametrize(
    "string, expected",
    [
        ('"""\n    op f(X:f32[N])->Y:f32[N]{\n    Y[i]=X[i]\n    }\n    """', None),
        ('"""op f(X:f32[N])->Y:f32[N]{ Y[i]=X[i] }"""', '"""op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"""'),
        ('"op f(X:f32[N])->Y:f32[N]{ Y[i]=X[i] }"', '"op f(X:f32[N])->Y:f32[N]{ Y[i]=X[i] }"'),
        (
            '"""\\\nop f(X:f32[N])->Y:f32[N]{ Y[i]=X[i] }"""',
            '"""\\\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"""',
        ),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_strings_of_python(string: str, expected: str | None, end: str):
    """Strings in triple quotes are laid out, at the indentation that they have."""
    whole = '"""\n    op f(X: f32[N]) -> Y: f32[N] {\n      Y[i] = X[i]\n    }\n    """'
    text = f"import texpr as tx\nf = tx.op({string})\nx=1\n".replace("\n", end)
    document = Document("a", text, 1, True)
    after = changed(text, format_document(Session(), document))
    assert after == text.replace(string.replace("\n", end), (expected or whole).replace("\n", end))


def test_very_different_long_lines_take_no_time():
    old, new = "x+" * 5000, "x + " * 5000
    ((start, stop, text),) = differences(old, new)
    assert old[:start] + text + old[stop:] == new
