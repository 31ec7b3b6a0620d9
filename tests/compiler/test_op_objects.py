"""Operators as Python objects: what they say of themselves, and how they travel."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import subprocess
import sys

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.compiler import CompiledKernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.traverse import equal

TEXT = """# Slides a window.
op window<T: float>(X: T[N], b: T = 0; R, S = 1) -> Y: T[(N - R)//S + 1] require R <= N, S >= 1 {
  Y[x] = b + sum(r in 0..R: if X[S*x + r] < 1 then X[S*x + r] else 0)
}"""
WINDOW = tx.op(TEXT)


def test_an_operator_describes_itself():
    assert repr(WINDOW) == "<op window<T: float>(X: T[N], b: T = 0; R, S = 1) -> Y: T[(N - R)//S + 1]>"
    assert (
        str(inspect.signature(WINDOW))
        == "(X: 'T[N]', b: 'T' = 0, *, R, S=1, out=None) -> 'Y: T[(N - R)//S + 1]'"
    )
    shown = pydoc.plain(pydoc.render_doc(WINDOW)).replace("\n    \n", "\n\n")  # from Python 3.13 on
    assert shown.endswith(f"{repr(WINDOW)[4:-1]}\n\n    Slides a window.\n")
    assert "X[S*x + r] &lt; 1" in WINDOW._repr_html_() and "<T" not in WINDOW._repr_html_()


@pytest.mark.parametrize("name", ops.names())
def test_library_operators_print_what_they_are(name):
    operator = getattr(ops, name)
    constants = {c.name: 2 for c in operator.signature.constants if c.required}
    try:
        program = operator.program(constants=constants)
    except tx.CheckError:
        pytest.skip("2 is no value of its constants")
    printed = tx.op(show_program(program, with_callees=True)).program()
    assert show_program(printed, with_callees=True) == show_program(program, with_callees=True)
    again = pickle.loads(pickle.dumps(operator))
    assert str(again) == str(operator) and equal(again.program(constants=constants), program)
    assert inspect.signature(again) == inspect.signature(operator)


def test_a_name_is_imported_when_it_is_used():
    code = (
        "import sys, texpr; assert 'numpy' not in sys.modules and 'islpy' not in sys.modules; import "
        "texpr.schedule"
    )
    code += (
        "; assert callable(texpr.schedule) and callable(texpr.sum); from texpr import lang, nn, op; assert "
        "'vjp' in dir(texpr)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_there_is_no_such_name():
    with pytest.raises(AttributeError, match=r"^texpr has no `conv2d`: did you mean `texpr\.ops\.conv2d`\?$"):
        tx.conv2d  # noqa: B018


@pytest.mark.parametrize("factor", [2, 2.0, np.float32(2), np.float64(2), np.int8(2)], ids=repr)
def test_a_call_with_a_number_is_bound_once(monkeypatch: pytest.MonkeyPatch, factor: object):
    """Binding takes five times as long as the call."""
    scale = tx.op("op scale(X: f32[N], s: f32) -> Y: f32[N] { Y[i] = s * X[i] }")
    bound: list[tuple] = []
    bind = CompiledKernel.bind
    monkeypatch.setattr(
        CompiledKernel, "bind", lambda self, shapes, *rest: bound.append(shapes) or bind(self, shapes, *rest)
    )
    x = np.arange(8, dtype=np.float32)
    for _ in range(4):
        np.testing.assert_array_equal(scale(x, factor), 2 * x)
    assert len(bound) == 1


def test_a_first_call_is_bound_once(monkeypatch: pytest.MonkeyPatch):
    """What native code hands on is bound when it is first met, and served as before."""
    double = tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    bound: list[tuple] = []
    bind = CompiledKernel.bind
    monkeypatch.setattr(
        CompiledKernel, "bind", lambda self, shapes, *rest: bound.append(shapes) or bind(self, shapes, *rest)
    )
    x = np.arange(8, dtype=np.float32)
    for given, times in ((x, 1), (x, 1), (np.repeat(x, 2)[::2], 1), (x.astype(">f4"), 2), (x, 2)):
        np.testing.assert_array_equal(double(given), 2 * x)
        assert bound == [((8,),)] * times
    with pytest.raises(tx.CallError):
        double(x, np.zeros(7, np.float32))
