"""Schedules that were once accepted and gave wrong numbers."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

pairs = tx.op("op f(X: f32[N, K]) -> Y: f32[N, (K+3)//4] { Y[i, j] = 0\n Y[i, k // 4] += X[i, k] }")


def test_a_joined_loop_is_proven_again():
    """Rows are independent, elements of a row are not."""
    s = tx.schedule(pairs, N=8, K=16).parallel("Y.1.i")
    before = str(s)
    with pytest.raises(
        tx.ScheduleError, match="after fuse, parallel run of `ik`: its iterations depend on each other"
    ):
        s.fuse("Y.1.i", "Y.1.k")
    assert str(s) == before


@pytest.mark.parametrize(("mark", "loop"), [("vectorize", "Y.1.i"), ("unroll", "Y.1.i"), ("unroll", "Y.1.k")])
def test_marked_loops_are_not_joined(mark: str, loop: str) -> None:
    s = tx.schedule(pairs, N=8, K=16)
    getattr(s, mark)(loop)
    with pytest.raises(tx.ScheduleError, match="fuse first, then mark the joined loop"):
        s.fuse("Y.1.i", "Y.1.k")


def test_joined_parallel_loops_where_all_iterations_are_independent():
    double = tx.op("op f(X: f32[N, K]) -> Y: f32[N, K] { Y[i, k] = X[i, k] * 2 }")
    values = np.random.default_rng(0).standard_normal((8, 16)).astype("f4")
    kernel = tx.schedule(double, N=8, K=16).parallel("i").fuse("i", "k").compile()
    np.testing.assert_array_equal(kernel(values), values * 2)
