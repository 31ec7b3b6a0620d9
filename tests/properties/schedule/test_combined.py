"""Steps on what other steps made, at sizes where little is left, and errors whose replay shows
the difference.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.printing.loop import show_kernel
from texpr.passes.loop.place_buffers import place

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
    text = (
        "op f(X: f32[M, N]) -> (Y: f32[M, N], s: f32[M]) { s[i] = sum(j: X[i, j])  Y[i, j] = X[i, j] / s[i] }"
    )
    s = tx.schedule(tx.op(text), N=0).specialize(M=5)
    with pytest.raises(tx.ScheduleError, match="`Y` has no elements, so nothing computes it"):
        s.reverse_compute_at("Y", "i_M5")


def test_clamps_in_all_dimensions_are_proven():
    """Three dimensions of four cases each would be 64; those that never happen are left out
    before they are multiplied.
    """
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
    s = tx.schedule(
        tx.op("op f(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = A[i-1, j | 0] + X[i, j] }"), N=0
    ).specialize(M=4)
    with pytest.raises(tx.ScheduleError, match="`A` is no temporary"):
        s.fold_storage("A", 0, 3)


def test_overlapping_tiles_of_threads_read_nothing_that_others_write():
    """Both tiles write the same to the row they share, but one may read while the other writes:
    refused in either order of the steps.
    """
    rows = tx.op("op rows(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = A[i, j - 1 | 0] + X[i, j] }")
    tx.schedule(rows).split("i", 2, tail="overlap")
    tx.schedule(rows).parallel("i")
    for steps in (
        ('split("i", 2, tail="overlap")', 'parallel("io")'),
        ('parallel("i")', 'split("i", 2, tail="overlap")'),
    ):
        with pytest.raises(tx.ScheduleError, match="its iterations depend on each other") as error:
            tx.schedule(rows).replay("\n".join(steps))
        assert error.value.witness["sizes"] == {"M": 3, "N": 2}


@pytest.mark.parametrize("layout", ["a b c -> b%2 a/2 c%2 b/2 a%2 c/2", "a b c -> c b a"])
def test_a_layout_leaves_threads_a_buffer_each(layout: str):
    """Also cut into tiles along what threads share out."""
    op = tx.op("""op f(X: f64[K, M, K]) -> Y: f64[M, K] {
      Y[i, j] = if X[j, i, j | 2] != X[j, i, j | 2] then X[j, i + i, 1 | clamp] else 0 }""")
    s = tx.schedule(op).split("i", 2).parallel("io").cache_read("X", "j")
    s.layout("X_cache", layout)
    sizes = dict.fromkeys(s.program.sizes, 3)
    for order in ORDERS:
        check(
            Scheduled(s.program, sizes, s.kernel, s.steps), s.kernel, random_arrays(s.program, sizes), order
        )


def test_lanes_share_no_buffers_of_a_pipeline():
    op = tx.op("""op f(X: f32[M, N]) -> Y: f32[M, N] {
      t[i, j] = X[i, j] * 2
      Y[i, j] = t[i, j] + 1 }""")
    s = tx.schedule(op).reorder("Y.j", "Y.i").vectorize("Y.j", 2).compute_at("t", "Y.i")
    with pytest.raises(
        tx.ScheduleError, match="after pipeline, vector run of `ji`: its iterations depend on each other"
    ):
        s.pipeline("t")
    tx.schedule(op).parallel("Y.i").compute_at("t", "Y.j").pipeline("t")


@pytest.mark.parametrize(
    "outside, legal", [('unroll("Y.io")', True), ('vectorize("Y.io", 2)', False), ("", True)]
)
@pytest.mark.parametrize("first", [True, False])
def test_threads_inside_lanes_have_no_buffers_of_their_own(outside: str, legal: bool, first: bool):
    """Where a loop around is written out they have, in whichever order the loops were marked."""
    op = tx.op("""op f(X: f32[M, K]) -> Y: f32[M, K] {
      t[i] = sum(k: X[i, k])
      Y[i, j] = t[i] * X[i, j] }""")
    s = tx.schedule(op, M=4).split("Y.i", 2).compute_at("t", "Y.j", recompute=True)
    steps = [outside, 'parallel("Y.j")'] if first else ['parallel("Y.j")', outside]
    if not legal:
        with pytest.raises(tx.ScheduleError, match="its iterations depend on each other"):
            s.replay("\n".join(steps))
        return
    s.replay("\n".join(steps))
    placed = show_kernel(place(s.kernel))
    assert placed.index("parallel") < placed.index("let t_acc")


def test_buffers_of_copies_for_other_sizes_are_empty():
    """For Q = 1 the sums of the copy for Q = 4 would have a row of W - 3 = -2 elements."""
    op = tx.op(
        "op smooth(X: f32[W], w: f32[Q]) -> Y: f32[W - Q + 1] require Q >= 1, Q <= W { Y[i] = sum(q: X[i + "
        "q] * w[q]) + 1 }"
    )
    s = tx.schedule(op).specialize(Q=4)
    for width, taps in ((1, 1), (2, 2), (5, 4), (6, 5)):
        arrays = [np.arange(width, dtype="f4"), np.arange(taps, dtype="f4")]
        wanted = tx.interpret(op, *arrays)
        np.testing.assert_array_equal(interpret_kernel(s.kernel, arrays, {"W": width, "Q": taps})[0], wanted)
        np.testing.assert_array_equal(s.compile()(*arrays), wanted)
