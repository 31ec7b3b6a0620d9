"""Updates of one element from all lanes."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import EIGHT, listing, refusals
from texpr.ir.printing.loop import show_kernel
from texpr.passes.loop.place_buffers import place
from texpr.schedule.script.script import Step


def test_a_float_sum_needs_permission():
    schedule = tx.schedule(tx.op("op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }"), N=8)
    with pytest.raises(tx.ScheduleError, match="vectorize of `i`: its iterations depend on each other"):
        schedule.vectorize("i")


CASES = [("max", "f32"), ("min", "f64"), ("sum", "i32"), ("prod", "i64"), ("max", "i32"), ("any", "f32")]


@pytest.mark.parametrize("reduction, dtype", CASES)
@pytest.mark.parametrize("n", [1, 5, 16, 23])
def test_lanes_join_what_has_no_order(reduction: str, dtype: str, n: int):
    body = "X[i] > 1" if reduction == "any" else "X[i]"
    result = "bool" if reduction == "any" else dtype
    operator = tx.op(f"op f(X: {dtype}[N]) -> y: {result} {{ y = {reduction}(i where i != 2: {body}) }}")
    kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[dtype]
    x = (np.random.default_rng(n).standard_normal(n) * 3).astype(kind)
    schedule = tx.schedule(operator, N=n)
    loop = next(v for v in schedule.loops if v.name == "i")
    np.testing.assert_array_equal(schedule.vectorize(loop).compile()(x), tx.interpret(operator, x))


def test_nan_and_zeros_in_lanes():
    operator = tx.op("op f(X: f32[N]) -> (a: f32, b: f32) { a = max(i: X[i])  b = min(i: X[i]) }")
    kernel = tx.schedule(operator, N=20).vectorize("a.i").vectorize("b.i").compile()
    x = np.full(20, -0.0, np.float32)
    x[7] = 0.0
    highest, lowest = kernel(x)
    assert not np.signbit(highest) and np.signbit(lowest)
    x[11] = np.nan
    assert np.isnan(kernel(x)).all()


def test_a_scatter_of_integers_stays_refused():
    """Lanes may meet in one element that no lane knows of: joining them would lose updates."""
    operator = tx.op("""op count(idx: i32[N] in 0..V; V = 4) -> c: i32[V] {
      c[v] = 0
      c[idx[i]] += 1
    }""")
    with pytest.raises(tx.ScheduleError, match="its iterations depend on each other"):
        tx.schedule(operator, N=16).apply(Step("vectorize", ("c.1.i",)))


def test_joined_loops_that_would_overflow_stay_apart():
    operator = tx.op("op b(A: f32[N]; S) -> C: f32[S, S] require N >= 1 { C[i, j] = A[0] }")
    with pytest.raises(tx.ScheduleError, match=r"`i` and `j` together have more than 2\^62 iterations"):
        tx.schedule(operator, S=2**32).fuse("i", "j")
    tx.schedule(operator, S=2**32).auto()


def test_one_lane_of_a_tile_that_has_one_element():
    operator = tx.op("op f(X: i32[N], b: i32[N]) -> Y: i32[N] { Y[i] = X[i] + b[i] }")
    schedule = (
        tx.schedule(operator)
        .cache_read("b", "i")
        .set_scope("b_cache", "stack")
        .split("i", 1)
        .split("ii", 2)
        .vectorize("iii")
    )
    x = np.arange(7, dtype=np.int32)
    np.testing.assert_array_equal(schedule.compile()(x, 10 * x), 11 * x)


def test_lanes_of_joined_loops_have_accumulators_of_their_own(golden):
    operator = tx.op("op f(X: f32[M, N, K]) -> Y: f32[M, N] { Y[i, j] = sum(k: X[i, j, k]) }")
    schedule = tx.schedule(operator).fuse("i", "j", name="ij").vectorize("ij", 8)
    golden(show_kernel(place(schedule.kernel)))
    x = np.random.default_rng(0).standard_normal((3, 7, 5)).astype(np.float32)
    np.testing.assert_allclose(schedule.compile()(x), x.sum(2), rtol=1e-5)


LISTINGS = {
    "vectorize": ("stencil", {"N": 4}, 's.vectorize("j")'),
    "vectorize_masked": ("triangle", {"M": 8}, 's.split("i", 3).vectorize("ii")'),
    "vectorize_symbolic": ("stencil", {}, 's.vectorize("j")'),
    "vectorize_lanes": ("stencil", {"N": 20}, 's.vectorize("j", 8, tail="peel")'),
    "vectorize_triangle": ("ragged", {"M": 8}, 's.vectorize("i")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.vectorize("k")'),
    ("matmul", EIGHT, 's.vectorize("j", 0)'),
    ("matmul", EIGHT, 's.vectorize("j", 2000)'),
    ("matmul", EIGHT, 's.vectorize("j", "4")'),
    ("matmul", EIGHT, 's.vectorize("j", 4, tail=3)'),
    ("scatter", {}, 's.vectorize("i")'),
    ("wave", {}, 's.vectorize("j")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
