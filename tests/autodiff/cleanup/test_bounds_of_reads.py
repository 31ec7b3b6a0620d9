"""No derivative reads or writes outside: it is proven where it is made, and what prints is
accepted by the same proof.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff.checking import check_gradient
from tests.autodiff.test_text import assert_round_trip
from texpr.autodiff import grad, jvp, vjp
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.lang import elaborate, parse
from texpr.poly import check_program

RANDOM = np.random.default_rng(3)


def program(text: str) -> Program:
    return elaborate(parse(text).ops["f"], {}, {})


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape)


NEXT_TOKEN = "op f(lp: f64[T, V], y: i64[T] in 0..V) -> l: f64[T] { l[t] = -lp[t - 1, y[t] | 0] }"
Y = np.array([2, 0, 1, 2])
CASES = {
    "data at a shifted index": (NEXT_TOKEN, normal(4, 3), Y),
    "data at an index shifted the other way": (
        "op f(A: f64[V, T], y: i64[T] in 0..V) -> l: f64[T] { l[t] = A[y[t], t + 1 | 0] }",
        normal(3, 4),
        Y,
    ),
    "data at a scaled index": (
        "op f(A: f64[T, V], y: i64[T] in 0..V) -> l: f64[T] { l[t] = A[2*t + 1, y[t] | 0] }",
        normal(4, 3),
        Y,
    ),
    "data at a reversed index": (
        "op f(A: f64[T, V], y: i64[T] in 0..V) -> l: f64[T] { l[t] = A[T - t, y[t] | 0] }",
        normal(4, 3),
        Y,
    ),
    "several data": (
        "op f(A: f64[T, V, V], y: i64[T] in 0..V) -> l: f64[T] { l[t] = A[t - 1, y[t], y[T - 1 - t] | 0] }",
        normal(4, 3, 3),
        Y,
    ),
    "data of data": (
        "op f(A: f64[T, V], y: i64[T] in 0..V, p: i64[T] in 0..T) -> l: f64[T] { l[t] = A[t - 2, y[p[t]] | "
        "0] }",
        normal(4, 3),
        Y,
        np.array([3, 1, 0, 2]),
    ),
    "data under a condition of data": (
        "op f(A: f64[V], y: i64[T] in 0..V, p: i64[M]) -> l: f64[M] { l[m] = if 0 <= p[m] and p[m] < T then "
        "A[y[p[m]]] else 0 }",
        normal(3),
        Y,
        np.array([-7, 3, 9, 0, 4]),
    ),
    "an index that a condition of data keeps inside": (
        "op f(A: f64[V], n: i64[M]) -> l: f64[M] { l[m] = if 0 <= n[m] - 1 and n[m] - 1 < V then A[n[m] - 1] "
        "** 2 else 0 }",
        normal(3),
        np.array([1, 0, 4, 3, 99]),
    ),
    "a mask at a shifted index": (
        "op f(A: f64[N], keep: bool[N]) -> B: f64[N] { B[i] = if i >= 1 and keep[i - 1] then A[i - 1] * A[i] "
        "else 0 }",
        normal(5),
        np.array([True, False, True, True, False]),
    ),
    "a range of data under a condition": (
        "op f(A: f64[K], n: i64[P] in 0..K + 1) -> B: f64[P] { B[i] = if i > 0 then sum(k in n[i - 1]..n[i]: "
        "A[k] ** 2) else 0 }",
        normal(5),
        np.array([0, 2, 2, 5]),
    ),
    "an update whose range depends on a later index": (
        "op f(X: f64[N]) -> Y: f64[N] { Y[i] = sum(r in 0..i + 1: X[r + i | 0]) }",
        normal(5),
    ),
    "an update whose range is data of a later index": (
        "op f(X: f64[N, N], p: i32[N] in 0..N) -> Y: f64[N] { Y[i] = sum(r in p[i]..N: X[r + r, p[i] | 0]) }",
        normal(4, 4),
        np.array([1, 0, 3, 2], "i4"),
    ),
    "a maximum of such a sum": (
        "op f(X: f64[N]) -> Y: f64[N] { Y[i] = max(r in 0..i + 1: X[r + i | 0]) }",
        normal(5),
    ),
    "a place that is read in a dimension with an end of its own": (
        "op f(X: f64[N, M]) -> Y: f64[N] { Y[i] = if i < M then max(k in 0..i + 1: X[k, i] * X[i, k]) else 0 "
        "}",
        normal(5, 3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_read_inside(name: str):
    """Interpreted, which fails outside; printed and read again; equal to differences."""
    text, *arrays = CASES[name]
    p = program(text)
    check_gradient(p, *arrays)
    backward = grad(p)
    for derived in (backward, *vjp(p), jvp(p), grad(backward), jvp(backward), grad(jvp(p))):
        assert check_program(derived) == (), "a derivative requires nothing that the operator does not"
        assert_accepted(derived)


def assert_accepted(derived: Program) -> None:
    text = show_program(derived, with_callees=True)
    again = elaborate(parse(text).ops[derived.name], {}, {})
    assert len(again.requires) == len(derived.requires)
    assert show_program(elaborate(parse(show_program(again)).ops[derived.name], {}, {})) == show_program(
        again
    )


def test_the_range_of_an_index_stays_a_condition_where_data_are_read_at_it():
    gradient = grad(program(NEXT_TOKEN))
    assert (
        show_program(gradient)
        == """op f_grad(lp: f64[T, V], y: i64[T] in 0..V, dl: f64[T]) -> dlp: f64[T, V] {
  dlp[t, v] = if t + 1 < T then if v == y[t + 1] then -dl[t + 1] else 0.0 else 0.0
}
"""
    )


def test_updates_run_over_an_index_before_what_depends_on_it():
    gradient = grad(program("op f(X: f64[N]) -> Y: f64[N] { Y[i] = sum(r in 0..i + 1: X[r + i | 0]) }"))
    assert [axis.var.name for axis in gradient.equations[1].axes] == ["i", "r"]
    assert_round_trip(gradient)


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f64[N], Z: f64[M]) -> Y: f64[M] { Y[i] = Z[i] * max(k in 0..N: X[k]) }",
        "op f(X: f64[N], Z: f64[M]) -> Y: f64[M] { Y[i] = Z[i] * min(r in 0..M: X[2*r | 0]) }",
        "op f(X: f64[N], Z: f64[M]) -> Y: f64[M] { Y[i] = Z[i] + X[i - 1 | clamp] }",
    ],
)
def test_sizes_of_zero_that_the_operator_allows(text: str):
    """A derivative does not require more."""
    p = program(text)
    nothing, some = np.zeros(0), np.ones(2)
    assert interpret(p, [nothing if not p.requires else some, nothing])[0].shape == (0,)
    for n in (nothing, some):
        dX, dZ = interpret(grad(p), [n, nothing, nothing])
        assert dX.tolist() == [0.0] * len(n) and dZ.tolist() == []
        forward, backward = vjp(p)
        known = dict(zip((t.name for t in forward.outputs), interpret(forward, [n, nothing]))) | {
            "X": n,
            "Z": nothing,
            "dY": nothing,
        }
        for a, b in zip(interpret(backward, [known[t.name] for t in backward.inputs]), (dX, dZ), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("update", ["max=", "min="])
def test_updates_compare_the_number_that_was_stored(update: str):
    """`c * sum(x)` differs from `sum(c * x)` in its last bits: compared with it, an update would
    have no gradient.
    """
    p = program(
        f"op f(x: f64[K], c: f64) -> Y: f64[2] {{\n  Y[i] = {'-' if update == 'max=' else ''}1000\n"
        f"  Y[u] {update} sum(k: c * x[k])  for u in 0..2 }}"
    )
    x = RANDOM.standard_normal(9)
    dx, dc = interpret(grad(p), [x, np.array(0.7), np.array([1.0, 2.0])])
    np.testing.assert_allclose(dx, np.full(9, 3 * 0.7))
    np.testing.assert_allclose(dc, 3 * x.sum())
