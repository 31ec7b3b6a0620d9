"""Counts of arithmetic and of iterations."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.graph.fusion.flops import iterations, multiply_adds, operations

RECTIFIED = """op f(A: f32[M, K], B: f32[K, N]) -> (Y: f32[M, N], Z: f32[M]) {
  Y[i, j] = if sum(k: A[i, k] * B[k, j]) > 0 then sum(l: A[i, l] * B[l, j]) else 0
  Z[i] = sum(k: A[i, k] + sum(l: A[i, l]))
}"""


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (multiply_adds, 2 * 3 * 5),
        (operations, 2 * 3 * 5 * 2 + 2 * 5 * 2 + 2 * 5 * 5),
        (iterations, 2 * 3 * (1 + 5) + 2 * 5 * (1 + 5)),
    ],
)
def test_equal_sums_count_once(count, expected: int):
    """Also of another index; a sum inside of another one is added for each of its terms."""
    program = tx.op(RECTIFIED).program()
    assert count(program, dict(zip(program.sizes, (2, 5, 3)))) == expected
