"""Gradients stay inside the language: what is printed parses and elaborates back to an equal
program.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

import texpr as tx
from tests.autodiff.test_pictures import PROGRAMS
from texpr.autodiff import grad, jvp, vjp
from texpr.ir.dtypes import BF16, F32, F64, I32
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import equal
from texpr.lang import elaborate, parse
from texpr.poly import check_program

OPS = parse((Path(__file__).parent.parent / "lang" / "operators.tx").read_text(), "operators.tx").ops
CONSTANTS = {
    "iota": {"N": 8},
    "embed_grad": {"V": 10},
    "one_hot": {"C": 4},
    "conv2d_dX": {"H": 5, "W": 5},
    "resize": {"V": 4},
}
WITHOUT = {"argsort", "sorted", "two"}


def without_constants(program: Program) -> Program:
    calls = tuple(
        replace(e, program=without_constants(e.program)) if isinstance(e, Invoke) else e
        for e in program.equations
    )
    return replace(program, constants=(), equations=calls)


def assert_round_trip(program: Program) -> None:
    text = show_program(program, with_callees=True)
    again = elaborate(parse(text).ops[program.name], {}, {})
    assert show_program(again, with_callees=True) == text
    assert equal(without_constants(again), without_constants(program))


def proven(program: Program) -> Program:
    """A program with what its proofs require, as the text of it would have."""
    calls = tuple(
        replace(e, program=proven(e.program)) if isinstance(e, Invoke) else e for e in program.equations
    )
    program = replace(program, equations=calls)
    return replace(program, requires=(*program.requires, *check_program(program)))


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if not name.startswith("conv2d")]
)  # whose outputs may have negative extents
def test_gradients_by_hand_written_programs(name: str):
    program = proven(PROGRAMS[name])
    assert_round_trip(grad(program))
    for half in vjp(program):
        assert_round_trip(half)


@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT])
@pytest.mark.parametrize("floats", [F32, F64, BF16], ids=str)
def test_gradients_of_operators(name: str, floats):
    op = OPS[name]
    types = {v.name: I32 if v.kind == "int" else floats for v in op.type_variables}
    program = elaborate(op, types, CONSTANTS.get(name, {}))
    if any(t.dtype.is_float for t in program.inputs) and any(t.dtype.is_float for t in program.outputs):
        assert_round_trip(grad(program))
        for half in vjp(program):
            assert_round_trip(half)


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f32[N]) -> Y: f32[N, N] { Y[i, j] = if X[i] < X[j] then min(k: X[i] / X[max(i - 1, 0)] + 0 "
        "* X[k]) else X[j] }",
        "op f(X: f32[L, D], h0: f32[D]) -> h: f32[L + 1, D] { h[0, j] = h0[j]  h[t + 1, j] = 0.5 * h[t, j] + "
        "X[t, j]  for t in 0..L }",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = if i > 0 then max(k in 0..i: X[k]) else 0 }",
        "op f(X: f32[N], Z: f32[N]) -> Y: f32[N] { Y[i] = if i > 0 and X[i] > 0 then Z[i] * max(k in 0..i: "
        "X[k]) else 0 }",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = if i > 0 then sum(j in 0..i: X[j] * max(k in 0..j + 1: X[k])) "
        "else 0 }",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sum(j in 0..i: if j > 0 then X[j] * min(k in 0..j: X[k]) else "
        "0) }",
        "op f(X: f32[N, C], t: i64[N, S] in 0..C) -> Y: f32[N, 2*S + 1] { Y[n, k] = if k % 2 == 1 then X[n, "
        "t[n, k//2]] else X[n, 0] }",
    ],
    ids=[
        "a reduction under a condition",
        "a recurrence of one tensor",
        "a maximum of nothing",
        "a maximum of nothing in a product",
        "a maximum in a triangle",
        "a minimum of nothing in a triangle",
        "an index that is read under a condition",
    ],
)
def test_found_by_fuzzing(text):
    gradient = grad(elaborate(parse(text).ops["f"], {}, {}))
    assert_round_trip(replace(gradient, requires=(*gradient.requires, *check_program(gradient))))


@pytest.mark.parametrize("value", ["max(*d: X[*a, *d])", "min(*d: abs(X[*a, *d]))", "prod(*d: X[*a, *d])"])
def test_reductions_over_packs(value: str):
    """Where an element was found in a pack is its place there."""
    program = elaborate(parse(f"op f(X: f64[*A:1, *D]) -> Y: f64[*A] {{ Y[*a] = {value} }}").ops["f"], {}, {})
    for derived in (grad(program), *vjp(program), grad(grad(program)), jvp(program)):
        text = show_program(derived, with_callees=True)
        assert (
            show_program(elaborate(parse(text).ops[derived.name], {}, {}), with_callees=True).splitlines()[
                -3:
            ]
            == text.splitlines()[-3:]
        )
    assert "place(*d)" in show_program(grad(program))


def test_conditions_stay_around_maxima():
    gradient = grad(
        elaborate(
            parse("op f(X: f64[N]) -> Y: f64[N] { Y[i] = if i > 0 then max(k in 0..i: X[k]) else 0 }").ops[
                "f"
            ],
            {},
            {},
        )
    )
    assert (
        show_program(gradient)
        == """op f_grad(X: f64[N], dY: f64[N]) -> dX: f64[N] {
  let Y_argmax: i64[N]
  Y_argmax[i] = if i > 0 then argmax(k in 0..i: X[k]) else 0
  dX[k] = sum(i where k < i and i > 0: if k == Y_argmax[i] then dY[i] else 0.0)
}
"""
    )


def test_derivatives_with_constants_that_have_no_default():
    """Their equations are there once the constants are chosen."""
    f = tx.op("op f(X: f64[N]; c, d = 1) -> Y: f64[N] { Y[i] = X[i] * c }")
    grad = tx.grad(f)
    assert (
        str(grad)
        == "op f_grad(X: f64[N], dY: f64[N]; c, d = 1) -> dX: f64[N]\n# the equations depend on constants: "
        "f_grad.text(c=...)\n"
    )
    assert (
        grad.text(c=2)
        == "op f_grad(X: f64[N], dY: f64[N]; c = 2, d = 1) -> dX: f64[N] {\n  dX[i] = dY[i] * 2.0\n}\n"
    )
    preset = tx.grad(tx.op("op g(X: f64[N]; c = 2, d = 1) -> Y: f64[N] { Y[i] = X[i] * c }"))
    assert str(preset) == preset.text() + "# for these constants; others: g_grad.text(c=...)\n"
    assert "2.0" in preset.text() and "3.0" in preset.text(c=3)
    again = tx.op(grad.text(c=3))
    assert list(again([1.0, 2.0], [1.0, 10.0])) == list(grad([1.0, 2.0], [1.0, 10.0], c=3)) == [3, 30]
    with pytest.raises(tx.CallError, match="f_grad needs the constant c"):
        grad.text()


@pytest.mark.parametrize("name", tx.ops.names())
def test_every_derivative_of_the_library_can_be_shown(name: str):
    f = getattr(tx.ops, name)
    assert str(f) and repr(f)
    with contextlib.suppress(tx.CheckError):  # it has no derivative
        assert str(tx.grad(f)) and repr(tx.grad(f)) and tx.grad(f)._repr_html_()
