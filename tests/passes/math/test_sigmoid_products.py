"""Products with a sigmoid are one quotient: `x * sigmoid(x)`, gates."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.passes.math.evaluate import ulp_error
from tests.passes.math.reference import WIDE
from texpr.ir.expr import Call
from texpr.ir.traverse import walk
from texpr.passes.math.sigmoid_products import TIMES_SIGMOID, join_sigmoid_products

TYPES = [("f32", "f4"), ("f64", "f8")]


def gate(t: str) -> tx.Op:
    return tx.op(f"op gate(A: {t}[N], X: {t}[N]) -> Y: {t}[N] {{ Y[i] = A[i] * sigmoid(X[i]) }}")


@pytest.mark.parametrize(("t", "dtype"), TYPES)
def test_the_bound_where_the_exponential_is_a_number(t: str, dtype: str):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(50_000) * s for s in (0.01, 1, 5, 25)]).clip(-87).astype(dtype)
    a = rng.standard_normal(x.size).astype(dtype)
    for factor in (a, x):
        exact = factor.astype(WIDE) / (1 + np.exp(-x.astype(WIDE)))
        assert ulp_error(gate(t)(factor, x), exact).max() <= 2.5


@pytest.mark.parametrize(("t", "dtype"), TYPES)
def test_limits(t: str, dtype: str):
    silu = tx.op(f"op f(X: {t}[N]) -> Y: {t}[N] {{ Y[i] = X[i] * sigmoid(X[i]) }}")
    x = np.array([-np.inf, -1e30, -2000, -0.0, 0, 1e-40, 1e-30, 90, 1e38, np.inf, np.nan], dtype)
    y = silu(x)
    expected = np.array([np.nan, -0.0, -0.0, -0.0, 0, 5e-41, 5e-31, 90, 1e38, np.inf, np.nan], dtype)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert np.signbit(y[1:5]).tolist() == [True, True, True, False]


@pytest.mark.parametrize(("t", "dtype"), TYPES)
@pytest.mark.parametrize("a", [1e-38, 1.0, 1e30, np.inf, np.nan])
def test_factors_of_every_size(a: float, t: str, dtype: str):
    """Also where the sigmoid is small, or below the normal numbers."""
    x = np.array([-103, -95, -88, -87, -86, -20, 0, 20, 90], dtype)
    got = gate(t)(np.full(x.size, a, dtype), x)
    exact = np.asarray(a, dtype) * np.asarray(
        tx.op(f"op s(X: {t}[N]) -> Y: {t}[N] {{ Y[i] = sigmoid(X[i]) }}")(x)
    )
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=np.finfo(dtype).smallest_subnormal)


@pytest.mark.parametrize(
    ("value", "joined"),
    [
        ("X[i] * sigmoid(X[i])", 1),
        ("sigmoid(2 * X[i]) * A[i] + A[i] * sigmoid(X[i])", 2),
        ("sigmoid(X[i]) * sigmoid(A[i])", 1),
        ("sigmoid(X[i])", 0),
        ("X[i] / sigmoid(X[i])", 0),
        ("A[i] * sigmoid(X[i]) * (1 - sigmoid(X[i]))", 0),
    ],
)
def test_sigmoids_that_one_product_uses(value: str, joined: int):
    kernel = tx.schedule(tx.op(f"op f(A: f32[N], X: f32[N]) -> Y: f32[N] {{ Y[i] = {value} }}")).kernel
    after = join_sigmoid_products(kernel)
    names = [n.function for n in walk(*after.body) if isinstance(n, Call)]
    assert names.count(TIMES_SIGMOID) == joined
    assert (after is kernel) == (joined == 0)
