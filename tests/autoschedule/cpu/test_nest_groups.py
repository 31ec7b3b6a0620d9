"""Nests that compute what others use have loops in common with these."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import handles
from texpr.autoschedule.core.nest import find_nests
from texpr.autoschedule.cpu.producer_chains import in_common
from texpr.ir.machine import Machine

POOLED = """op pooled(X: f32[N, C, 24, 24]) -> (Y: f32[N, C, 12, 12], Z: f32[N, C, 12, 12]) {
  Y[n, c, y, x] = max(r in 0..2, q in 0..2: X[n, c, 2*y + r, 2*x + q])
  Z[n, c, y, x] = sum(r in 0..2, q in 0..2: X[n, c, 2*y + r, 2*x + q] * X[n, c, 2*y + r, 2*x + q]) - Y[n, c, y, x]
}"""
MULTIPLIED = """op multiplied(X: f32[N, C, 24, 16], w: f32[16, 48]) -> Z: f32[N, C, 24, 48] {
  let Y: f32[N, C, 24, 48]
  Y[n, c, y, x] = sum(k: X[n, c, y, k] * w[k, x])
  Z[n, c, y, x] = exp(Y[n, c, y, x]) + X[n, c, y, 0] }"""


def test_nests_of_the_same_rows_have_all_their_outer_loops_in_common():
    operator = tx.op(POOLED)
    s = tx.schedule(operator, N=8, C=4).auto("x86-64-v4")
    assert 'compute_at("Y", "Z.y", recompute=False)' in s.script() and s.certificate()
    x = np.random.default_rng(0).standard_normal((8, 4, 24, 24), dtype="f4")
    for found, wanted in zip(
        tx.schedule(operator, N=8, C=4).auto().compile()(x), tx.interpret(operator, x), strict=True
    ):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "sizes", "depth"),
    [
        (POOLED, {"N": 8, "C": 4}, 4),
        (POOLED, {"N": 8, "C": 1}, 1),
        (MULTIPLIED, {"N": 8, "C": 4}, 1),
        (
            "op two(X: f32[N, 6, 8], v: f32[6]) -> (Y: f32[N, 6, 8], Z: f32[N, 3, 8]) {\n"
            "  Y[n, i, j] = X[n, i, j] + v[i]\n  Z[n, i, j] = Y[n, i, j] * Y[n, 2*i, j] }",
            {"N": 8},
            1,
        ),
    ],
)
def test_loops_are_in_common_while_alike_and_nothing_is_read_again(
    text: str, sizes: dict[str, int], depth: int
):
    builder = ScheduleBuilder(
        tx.schedule(tx.op(text), **sizes).kernel, Machine(16, 32, (32 << 10, 1 << 20), 2)
    )
    first, second = find_nests(builder.kernel)
    assert in_common(builder, first, *(handles(nest.spatial) for nest in (first, second)), 1) == depth


def test_columns_that_are_summed_are_no_rows():
    """Lanes run along what lies side by side, though two nests read the same columns of a large
    input.
    """
    operator = tx.op("op places(X: f32[M, N]) -> Y: i64[N] { Y[j] = argmax(i: X[i, j]) }")
    s = tx.schedule(operator, M=1000, N=1000).auto("x86-64-v4")
    assert 'vectorize("Y.ji")' in s.script() and 'vectorize("Y_max.ji")' in s.script() and s.certificate()
    x = np.random.default_rng(0).integers(0, 9, (1000, 1000)).astype("f4")
    np.testing.assert_array_equal(operator(x), x.argmax(0))


def test_rows_are_asked_for_while_the_place_of_an_extreme_is_sought():
    operator = tx.op("op places(X: f32[M, N]) -> Y: i64[M] { Y[i] = argmax(j: X[i, j]) }")
    s = tx.schedule(operator, M=1000, N=1024).auto("x86-64-v4")
    assert 'prefetch("X", "Y.io", 1, at="Y.jo")' in s.script() and s.certificate()
    assert "prefetch" not in tx.schedule(operator, M=10, N=1024).auto("x86-64-v4").script()
