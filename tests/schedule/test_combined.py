"""Steps on what other steps made, at sizes where little is left, and errors whose replay shows the difference."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.interpret_loop import ORDERS

SOLVE = "op solve(L: f32[M, M], b: f32[M]) -> x: f32[M] { x[i] = b[i] - sum(j in 0..i: L[i, j] * x[j]) }"
GATHER = "op gather(E: f32[N, M], idx: i32[K] in 0..N) -> Y: f32[K, M] { Y[k, d] = E[idx[k], d] }"
PREFIX = "op prefix(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = A[i, j - 1 | 0] + X[i, j] }"


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("order", ORDERS)
def test_a_buffer_shorter_than_nothing(size: int, order: str):
    s = tx.schedule(tx.op(SOLVE)).cache_read("L", "i")
    sizes = dict.fromkeys(s.program.sizes, size)
    check(Scheduled(s.program, sizes, s.kernel, s.steps), s.kernel, random_arrays(s.program, sizes), order)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_an_index_that_a_condition_holds_off_is_not_looked_up(size: int):
    s = tx.schedule(tx.op(GATHER)).split("k", 3).cache_read("E", "ki")
    sizes = {v: size if v.name == "K" else 2 for v in s.program.sizes}
    check(Scheduled(s.program, sizes, s.kernel, s.steps), s.kernel, random_arrays(s.program, sizes))


def test_a_copy_made_too_early_is_shown():
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(tx.op(PREFIX)).cache_read("A", "i")
    assert str(error.value.replay()).startswith("at M=1, N=2: A[0, 1] is ")


def test_a_tensor_without_elements_is_computed_nowhere():
    text = "op f(X: f32[M, N]) -> (Y: f32[M, N], s: f32[M]) { s[i] = sum(j: X[i, j])  Y[i, j] = X[i, j] / s[i] }"
    s = tx.schedule(tx.op(text), N=0).specialize(M=5)
    with pytest.raises(tx.ScheduleError, match="`Y` has no elements, so nothing computes it"):
        s.reverse_compute_at("Y", "i_M5")


def test_clamps_in_all_dimensions_are_proven():
    """Three dimensions of four cases each would be 64; those that never happen are left out before they are multiplied."""
    heat = tx.op("""op heat(X: f32[M, N]; T) -> Y: f32[M, N] {
        let A: f32[T + 1, M, N]
        A[0, i, j] = X[i, j]
        A[t + 1, i, j] = A[t, i - 1, j | clamp] + A[t, i, j + 1 | clamp] for t in 0..T, i in 0..M, j in 0..N
        Y[i, j] = A[T, i, j] }""")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = x
    for _ in range(2):
        expected = np.vstack([expected[:1], expected[:-1]]) + np.hstack([expected[:, 1:], expected[:, -1:]])
    np.testing.assert_array_equal(heat(x, T=2), expected)


def test_fold_of_an_output_that_nothing_stores_to():
    s = tx.schedule(tx.op("op f(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = A[i-1, j | 0] + X[i, j] }"), N=0).specialize(M=4)
    with pytest.raises(tx.ScheduleError, match="`A` is no temporary"):
        s.fold("A", 0, 3)
