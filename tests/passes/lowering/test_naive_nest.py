"""Ranges that depend on other indices: triangles on left sides and in sums, compiled and
interpreted.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.support.errors import CheckError

MATRIX = "op f(X: f64[N]) -> Y: f64[N, N] "
TRIANGLES = {
    "upper": MATRIX + "{ Y[i, j] = X[j] for i in 0..N, j in i..N  Y[i, j] = 0 for i in 0..N, j in 0..i }",
    "from one": MATRIX
    + "{ Y[i, j] = X[j] for i in 1..N, j in i..N  Y[i, j] = 2 for i in 1..N, j in 0..i  Y[0, j] = 5 }",
    "inner first": MATRIX + "{ Y[i, j] = X[j] for i in j..N, j in 0..N  Y[i, j] = 0 for j in i+1..N }",
    "sum": "op f(X: f64[N]) -> y: f64 { y = sum(i in 0..N, j in i..N: X[j]) }",
    "three": "op f(X: f64[N]) -> y: f64 { y = sum(i in 0..N, j in i..N, k in j-i..j+1: X[j] * X[k]) }",
    "rows": MATRIX
    + "{ Y[i, j] = sum(k in i..j+1: X[k] * X[j]) for i in 0..N, j in i..N  Y[i, j] = 0 for i in 0..N, j in "
    "0..i }",
    "nested": "op f(X: f64[N]) -> y: f64 { y = sum(i in 0..N, j in i..N: X[i] * sum(k in 0..j+1: X[k])) }",
    "twice": MATRIX
    + "{ Y[i, j] = max(k in i..j+1: X[k]) / sum(k in 0..j+1: X[k] * X[k]) for i in 0..N, j in i..N"
    "  Y[i, j] = 0 for i in 0..N, j in 0..i }",
    "band": MATRIX
    + "{ Y[i, j] = 0  Y[i, j] += X[j] * X[i] for i in 0..N, j in max(i - 1, 0)..min(i + 2, N) }",
    "banded sum": MATRIX
    + "{ Y[i, j] = 0  Y[i, j] += sum(k in 0..j + 1: X[k]) for i in 0..N, j in max(i - 1, 0)..min(i + 2, N) }",
}


@pytest.mark.parametrize("size", [0, 1, 2, 9, 33])
@pytest.mark.parametrize("name", TRIANGLES)
def test_triangles(name: str, size: int):
    operator = tx.op(TRIANGLES[name])
    x = np.random.default_rng(size).standard_normal(size)
    if size == 0 and operator.program().requires:
        pytest.skip("not of size 0")
    np.testing.assert_allclose(operator(x), tx.interpret(operator, x), rtol=1e-12, atol=1e-12)
    naive = tx.schedule(operator).compile()
    np.testing.assert_allclose(naive(x), tx.interpret(operator, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 254, 255, 256, 257])
def test_places_fit_their_type(size: int):
    """A place among at most 255 is a byte, 255 is none; the last one, that of NaN, and one
    behind which nothing is asked for.
    """
    operator = tx.op(f"op f(X: f32[M, {size}]) -> y: i64[M] {{ y[i] = argmax(j: X[i, j]) }}")
    x = np.zeros((3, size), "f4")
    x[0, -1], x[1, size // 2] = 1, np.nan
    np.testing.assert_array_equal(operator(x), [size - 1, size // 2, 0])
    np.testing.assert_array_equal(tx.interpret(operator, x), [size - 1, size // 2, 0])


def test_argmax_over_a_triangle_is_refused():
    operator = tx.op(
        "op f(X: f64[N]) -> (a: i64, b: i64) { a, b = argmax(i in 0..N, j in i..N: X[j] - X[i]) }"
    )
    with pytest.raises(CheckError) as e:
        operator(np.arange(4.0))
    assert (
        str(e.value)
        == """error[target]: argmax over ranges that depend on each other is not compiled
  --> <op>:1:46
  1 | op f(X: f64[N]) -> (a: i64, b: i64) { a, b = argmax(i in 0..N, j in i..N: X[j] - X[i]) }
    |                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: run over all of both, and write the condition after `where`"""
    )


def test_ranges_that_depend_on_each_other():
    with pytest.raises(CheckError) as e:
        tx.op(MATRIX + "{ Y[i, j] = X[j] for i in 0..j + 1, j in i..N }")
    assert (
        str(e.value)
        == """error[range]: the range of `i` depends on itself
  --> <op>:1:35
  1 | op f(X: f64[N]) -> Y: f64[N, N] { Y[i, j] = X[j] for i in 0..j + 1, j in i..N }
    |                                   ^^^^^^^
  help: ranges may depend on indices whose ranges do not depend on them"""
    )
