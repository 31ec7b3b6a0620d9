"""Shorter formulas for the same gradient, and where the short one would be another."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff.checking import check_gradient
from tests.work import at_most
from texpr.autodiff import grad, vjp
from texpr.autodiff.cleanup.factored_products import factored, product
from texpr.autodiff.core.algebra import constant
from texpr.ir.dtypes import F64
from texpr.ir.expr import Add, Div, Expr, Mul, Neg, Read, Sub, Tensor
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal
from texpr.lang import elaborate, parse
from texpr.poly import check_program

A, B, C, D = (Read(Tensor(n, F64, ()), ()) for n in "abcd")


def number(value: float) -> Expr:
    return constant(value, F64)


def program(text: str) -> Program:
    return elaborate(parse(text).ops["f"], {}, {})


def value_of(p: Program, target: str) -> str:
    lines = [line.strip() for line in show_program(p).splitlines()]
    return next(line.partition(" = ")[2] for line in lines if line.startswith(f"{target}["))


@pytest.mark.parametrize(
    ("e", "wanted"),
    [
        (Div(Mul(A, B), A), B),
        (Mul(Div(A, B), Mul(B, C)), Mul(A, C)),
        (Mul(Mul(number(2.0), A), Neg(Mul(number(0.5), B))), Neg(Mul(A, B))),
        (Div(number(1.0), A), Div(number(1.0), A)),
        (Div(A, Div(B, C)), Div(Mul(A, C), B)),
    ],
)
def test_products(e: Expr, wanted: Expr):
    assert equal(product(e).expr(), wanted)


@pytest.mark.parametrize(
    ("e", "wanted"),
    [
        (Add(Mul(A, B), Mul(C, B)), Mul(B, Add(A, C))),
        (Sub(Div(A, C), Mul(B, Div(D, C))), Div(Sub(A, Mul(B, D)), C)),
        (Sub(Neg(Mul(A, B)), Mul(A, C)), Neg(Mul(A, Add(B, C)))),
        (Add(A, Mul(number(2.0), A)), Mul(number(3.0), A)),
    ],
)
def test_common_factors(e: Expr, wanted: Expr):
    found = factored(e)
    assert found is not None and equal(found.expr(), wanted)


def test_terms_with_nothing_in_common():
    assert factored(Add(Mul(A, B), Mul(C, D))) is None
    assert factored(Add(A, Mul(number(2.0), B))) is None


def test_factors_stay_in_sums_where_nothing_else_says_that_they_can_be_read():
    p = program(
        "op f(X: f64[N], A: f64[N]) -> Y: f64[N] { Y[i] = sum(k in 0..i: A[i - 1] * A[i - 1] * X[k]) }"
    )
    check_program(check_gradient(p, np.arange(1.0, 6), np.arange(2.0, 7)))


MEAN = (
    "op f(X: f64[N, D]) -> Y: f64[N, D] { m[n] = sum(k: X[n, k]) / f64(D)  v[n] = sum(k WHERE: (X[n, k] - "
    "m[n]) * (X[n, k] - m[n])) "
    "Y[n, k] = X[n, k] * v[n] }"
)


def test_deviations_from_a_mean_add_up_to_nothing():
    assert len(grad(program(MEAN.replace(" WHERE", ""))).equations) == 4
    x = np.random.default_rng(0).normal(size=(2, 4))
    check_gradient(program(MEAN.replace(" WHERE", "")), x)


@pytest.mark.parametrize("where", [" where k > 0", " in 1..D", " where X[n, k] > 0"])
def test_deviations_of_some_do_not(where: str):
    check_gradient(
        program(MEAN.replace(" WHERE", where).replace("{ m", "require D >= 2 { m", 1)),
        np.random.default_rng(0).normal(size=(2, 4)),
    )


def test_means_of_something_else_do_not():
    text = MEAN.replace(" WHERE", "").replace("sum(k: X[n, k]) / f64(D)", "sum(k: X[n, k]) / f64(N)")
    check_gradient(program(text), np.random.default_rng(0).normal(size=(2, 4)))


def test_what_the_forward_pass_multiplied_is_read():
    p = program(
        "op f(X: f64[N], s: f64[N]) -> (P: f64[N], Y: f64[N]) { P[i] = X[i] * s[i]  Y[i] = exp(P[i]) * P[i] }"
    )
    check_gradient(p, np.array([0.3, -0.2]), np.array([1.1, 0.7]))
    backward = vjp(
        program("op f(E: f64[N, M], s: f64[N]) -> Y: f64[N, M] { Y[i, j] = E[i, j] / s[i] }"), ["s"]
    ).backward
    assert value_of(backward, "ds") == "-(sum(j: dY[i, j] * Y[i, j]) / s[i])"


def test_sums_that_two_equations_need_are_computed_once():
    p = program(
        "op f(X: f64[N, D], w: f64[N], b: f64[N]) -> Y: f64[N, D] { Y[i, j] = X[i, j] * w[i] * b[i] }"
    )
    gradient = check_gradient(p, np.ones((2, 3)), np.array([2.0, 3]), np.array([4.0, 5]))
    assert show_program(gradient).count("sum(") == 1


def test_long_sums_and_products_stay_cheap():
    for op in (" + ", " * "):
        value = op.join(["X[i]", *(f"X[max(i - {k}, 0)]" for k in range(1, 100))])
        with at_most():
            grad(program(f"op f(X: f64[N]) -> Y: f64[N] {{ Y[i] = {value} }}"))


def test_a_maximum_where_it_is_finite_needs_no_gradient():
    p = program(
        "op f(X: f64[N, D]) -> y: f64[N] require D >= 1 { m[n] = max(j: X[n, j])  s[n] = if abs(m[n]) < inf "
        "then m[n] else 0 "
        "y[n] = s[n] + log(sum(j: exp(X[n, j] - s[n]))) }"
    )
    gradient = check_gradient(p, np.random.default_rng(0).normal(size=(2, 3)))
    assert "argmax" not in show_program(gradient)
    other = program(
        "op f(X: f64[N, D]) -> y: f64[N] require D >= 1 { m[n] = max(j: X[n, j])  s[n] = if m[n] < 1 then "
        "m[n] else 0 "
        "y[n] = s[n] + log(sum(j: exp(X[n, j] - s[n] * s[n]))) }"
    )
    assert "argmax" in show_program(check_gradient(other, np.random.default_rng(0).normal(size=(2, 3))))
