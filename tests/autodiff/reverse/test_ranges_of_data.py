"""Sums that reach as far as data says, of elements that data says: whom does each go to?"""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff.checking import check_gradient
from texpr.autodiff import grad
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.lang import elaborate, parse
from texpr.support.errors import CheckError

SPARSE = """op f(first: i64[P] in 0..K + 1, V: f64[K], c: i64[K] in 0..N, x: f64[N]) -> y: f64[P - 1] require P > 0 {
  y[i] = sum(k in first[i]..first[i + 1]: V[k] * x[c[k]]) }"""
UP_TO = (
    "op f(n: i64[M], m: i64[M] in 0..K, x: f64[N], c: i64[K] in 0..N) -> y: f64[M] {{ y[i] = sum(j in {}: "
    "x[c[j]]) }}"
)


def program(text: str) -> Program:
    return elaborate(parse(text).ops["f"], {}, {})


def test_a_sparse_matrix_times_a_vector():
    gradient = check_gradient(
        program(SPARSE),
        np.array([0, 2, 2, 5]),
        np.array([1.0, -2, 3, 0.5, 4]),
        np.array([1, 0, 2, 2, 1]),
        np.array([0.3, -1.0, 2.0]),
    )
    assert "  dx[c[k] + 0 * i] += dy[i] * V[k]  for k in first[i]..first[i + 1]\n" in show_program(gradient)


@pytest.mark.parametrize(
    "reach",
    [
        "0..m[i]",
        "m[i]..K",
        "0..min(n[i], K)",
        "max(n[i], 0)..K",
        "max(m[i] - 1, 0)..min(n[i], K - 1)",
        "m[i]..m[i] + 1",
        "min(max(n[i], 0), K)..max(min(n[i], K), 0)",
    ],
)
def test_sums_as_far_as_data_says(reach: str):
    n, m, x, c = np.array([3, 0, 2]), np.array([1, 2, 0]), np.array([0.3, -1.0, 2.0]), np.array([2, 0, 2, 1])
    check_gradient(program(UP_TO.format(reach)), n, m, x, c)


def test_data_of_which_nothing_is_declared():
    with pytest.raises(CheckError) as e:
        grad(
            program(
                "op f(n: i64[M], x: f64[N], c: i64[K] in 0..N) -> y: f64[M] {\n  y[i] = sum(j in 0..n[i]: "
                "x[c[j % K] | 0])\n}"
            )
        )
    assert (
        str(e.value)
        == """error[gradient]: the gradient of `x` needs to know how far `j` counts, which `n` says
  --> <text>:2:28
  2 |   y[i] = sum(j in 0..n[i]: x[c[j % K] | 0])
    |                            ^^^^^^^^^^^^^^^
  help: declare the range of `n`: n: ... in 0..N"""
    )
