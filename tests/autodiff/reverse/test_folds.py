"""Folds with `*=`, `max=` and `min=`: which instances the gradient of an element goes to."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.autodiff.checking import check_gradient
from texpr.autodiff import grad
from texpr.ir.printing.tensor import show_program
from texpr.lang import elaborate, parse
from texpr.poly import check_program

TEXT = """op fold(X: f64[N], idx: i64[M] in 0..N, U: f64[M]) -> Y: f64[N] {
  Y[n] = X[n]
  Y[idx[m]] OP U[m]
}"""
PLACES = np.array([0, 2, 2, 0, 2])


def derivative(op: str, x: list[float], u: list[float]) -> list[list[float]]:
    operator = tx.op(TEXT.replace("OP", op))
    return [g.tolist() for g in tx.grad(operator)(np.array(x), PLACES, np.array(u), np.array([1.0, 10, 100]))]


def test_the_largest_gets_it():
    assert derivative("max=", [3.0, 0, 1], [1.0, 2, 5, 2, 3]) == [[1, 10, 0], [0, 0, 100, 0, 0]]
    assert derivative("min=", [3.0, 0, 1], [1.0, 2, 5, 2, 3]) == [[0, 10, 100], [1, 0, 0, 0, 0]]


def test_equal_ones_share_it():
    assert derivative("max=", [1.0, 0, 4], [1.0, 4, 4, 1, 4]) == [[1 / 3, 10, 25], [1 / 3, 25, 25, 1 / 3, 25]]


def test_factors_that_are_zero():
    assert derivative("*=", [2.0, 0, 1], [3.0, 4, 5, 7, 6]) == [[21, 10, 12000], [14, 3000, 2400, 6, 2000]]
    assert derivative("*=", [2.0, 0, 1], [0.0, 4, 0, 7, 6]) == [[0, 10, 0], [14, 0, 2400, 0, 0]]
    assert derivative("*=", [0.0, 0, 0], [3.0, 0, 0, 7, 6]) == [[21, 10, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("zeros", [(), (0,), (0, 1), (0, 1, 2)])
def test_products_have_second_derivatives(zeros: tuple[int, ...]):
    """At zeros as well, where the derivative goes through the factors that are 0."""
    program = elaborate(parse(TEXT.replace("OP", "*=")).ops["fold"], {}, {})
    random = np.random.default_rng(0)
    u = random.normal(size=5)
    u[[1, 2, 4][: len(zeros)]] = 0
    arrays = random.normal(size=3), PLACES, u
    check_gradient(program, *arrays)
    check_program(check_gradient(grad(program), *arrays, random.normal(size=3)))


@pytest.mark.parametrize("op", ["+=", "*=", "max=", "min="])
@pytest.mark.parametrize("function", ["exp", "sigmoid", "tanh", "sqrt", "1 / "])
def test_a_function_is_not_read_from_where_others_are_folded_in(function: str, op: str):
    """The derivatives of these are formulas in their own values, which the tensor no longer
    holds once it is updated.
    """
    text = f"""op f(X: f64[N], A: f64[N]) -> Y: f64[N] {{
  t[i] = {function}(X[i])
  t[i // 2] {op} A[i] * A[i]
  Y[i] = t[i] * t[i]
}}"""
    check_gradient(
        elaborate(parse(text).ops["f"], {}, {}),
        np.array([1.5, 0.1, 2.0, 0.3]),
        np.array([0.7, 1.2, 0.4, 1.1]),
    )


@pytest.mark.parametrize("op", ["*=", "max=", "min="])
def test_parts_that_are_dropped(op: str):
    text = f"op f(X: f64[N]) -> Y: f64[N] {{ Y[i] = 0.5  Y[i + 1 | drop] {op} X[i] * X[i] }}"
    check_gradient(elaborate(parse(text).ops["f"], {}, {}), np.array([1.5, -0.1, 2.0, 0.3]))


@pytest.mark.parametrize("op", ["*=", "max=", "min="])
@pytest.mark.parametrize("dropped", [0.0, np.inf, np.nan])
def test_what_is_dropped_has_no_derivative(dropped: float, op: str):
    """Whatever it is: 0 equals what is read outside, where nothing is counted, and a quotient by
    NaN is NaN.
    """
    f = tx.op(f"op f(X: f64[N]) -> Y: f64[N] {{ Y[i] = 0.5  Y[i + 1 | drop] {op} X[i] }}")
    x = np.array([1.5, -0.1, 0.3, dropped])
    known = tx.grad(f)(np.array([1.5, -0.1, 0.3, 7.0]), np.ones(4))
    np.testing.assert_array_equal(tx.grad(f)(x, np.ones(4)), known)
    (_, ahead), (_, tangent) = (tx.jvp(f)(each, np.ones(4)) for each in (x, np.array([1.5, -0.1, 0.3, 7.0])))
    np.testing.assert_array_equal(ahead, tangent)


def test_text(golden):
    golden(
        "\n".join(
            show_program(grad(elaborate(parse(TEXT.replace("OP", op)).ops["fold"], {}, {})))
            for op in ("max=", "*=")
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f64[N], idx: i64[N] in 0..N) -> Y: f64[N] { Y[i] = X[i] + (if idx[i] < i then 0.5 * "
        "Y[idx[i]] * X[i] else 0) }",
        "op f(X: f64[N], idx: i64[N] in 0..N) -> Y: f64[N] { Y[i] = X[i] + sum(k: if idx[i] < i and k != 1 "
        "then X[k] * Y[idx[i]] else 0) }",
    ],
)
def test_recurrences_over_places_that_are_data(text: str):
    """The instances that read an element are searched; which come before it is proven."""
    program = elaborate(parse(text).ops["f"], {}, {})
    random = np.random.default_rng(0)
    arrays = random.normal(size=6), np.array([0, 0, 0, 1, 3, 2])
    gradient = check_gradient(program, *arrays)
    check_program(gradient)
    check_program(check_gradient(gradient, *arrays, random.normal(size=6)))


def test_recurrences_over_rows():
    text = (
        "op f(X: f64[N, D], idx: i64[N] in 0..N) -> Y: f64[N, D] { Y[i, d] = X[i, d] + (if idx[i] < i then "
        "sin(Y[idx[i], d]) else 0) }"
    )
    gradient = check_gradient(
        elaborate(parse(text).ops["f"], {}, {}),
        np.random.default_rng(0).normal(size=(4, 2)),
        np.array([0, 0, 1, 0]),
    )
    assert "sum(i: if idx[i] < i and idx[i] == n then" in show_program(gradient)
