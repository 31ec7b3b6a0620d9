"""Sums over earlier elements of a recurrence: what a tile needs of those before it is added for
all of the tile at once.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from texpr.autoschedule.driver import auto
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.machine import Machine
from texpr.lang import parse_kernel
from texpr.schedule.steps.placement.expand_dim import expand_dim

LU = """
op lu(A: f64[N, N]) -> F: f64[N, N] {
  F[i, j] = (A[i, j] - sum(k in 0..j: F[i, k] * F[k, j])) / F[j, j]  for i in 0..N, j in 0..i
  F[i, j] = A[i, j] - sum(k in 0..i: F[i, k] * F[k, j])  for i in 0..N, j in i..N
}
"""
PARTS = """
op parts(X: i32[N]) -> P: i32[N, N] {
  P[i, j] = X[i]  for i in 0..N, j in 0..i + 1
  P[i, j] = max(P[i+1, j-1] + X[j], max(k in i..j: P[i, k] + P[k+1, j]))  for i in 0..N, j in i + 1..N
}
"""
ALONG = (
    "op solve(L: f64[N, N], b: f64[N]) -> x: f64[N] { x[i] = (b[i] - sum(j in 0..i: L[i, j] * x[j])) / L[i, "
    "i] }"
)
RUNNING = """
op running(X: f64[T, N]) -> Y: f64[T, N] {
  let s: f64[T]
  s[t] = if t == 0 then 0.0 else s[t - 1] + X[t, 0]
  Y[t, i] = s[t] * X[t, i]
}
"""
REST = """kernel rest(X: f64[N]) -> (Y: f64[N])
  let t: f64
  for Y.i in 0..N
    Y[i] = 0.0
    for Y.k in 0..i % 4
      t = X[i - k]
      Y[i] += t
"""
TILED = """split("F.0.j", 4)
expand_dim("F_acc", "F.0.ji")
split("F.0.k", 4, tail="peel")
fission("F.0.ji", "F.0.ko", name="jr")
reorder("F.0.ko", "F.0.ki", "F.0.ji")
vectorize("F.0.ji")"""
NEAR = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


def matrix(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 4, 7, 8, 9, 21])
def test_tiles_have_the_bits_of_the_equations(n):
    s = tx.schedule(tx.op(LU)).replay(TILED)
    assert s.certificate()
    A = matrix(n)
    assert_same_bits(s.compile()(A), interpret(s.program, [A])[0])


@pytest.mark.parametrize("text", [LU, PARTS], ids=["elimination", "backward"])
def test_the_default_schedule_takes_tiles(text, golden):
    s = tx.schedule(tx.op(text), N=300)
    s.steps[:], s.kernel = auto(s.kernel, NEAR)
    golden(f"{s.script()}\n{s}")
    assert s.certificate()


@pytest.mark.parametrize("n", [130, 257])
def test_the_default_schedule_factors(n):
    A = matrix(n)
    F = tx.op(LU)(A)
    np.testing.assert_allclose((np.tril(F, -1) + np.eye(n)) @ np.triu(F), A, rtol=1e-12, atol=1e-12 * n)


@pytest.mark.parametrize("n", [129, 161])
def test_the_default_schedule_of_a_backward_recurrence_computes_it(n):
    X = np.random.default_rng(n).integers(-5, 6, n).astype(np.int32)
    op = tx.op(PARTS)
    assert any(str(step).startswith("peel") for step in tx.schedule(op, N=n).auto().steps)
    assert_same_bits(op(X), parts(X))
    assert_same_bits(interpret(op.program(), [X[:12]])[0], parts(X[:12]))


def parts(X: np.ndarray) -> np.ndarray:
    """What PARTS computes, in loops of Python: the interpreter takes minutes where tiles begin."""
    n = len(X)
    P = np.repeat(X[:, None], n, 1)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            P[i, j] = max(P[i + 1, j - 1] + X[j], np.max(P[i, i:j] + P[i + 1 : j + 1, j]))
    return P


@pytest.mark.parametrize(
    ("text", "sizes"), [(ALONG, {"N": 300}), (LU, {"N": 40})], ids=["along memory", "few"]
)
def test_others_have_none(text, sizes):
    assert not any(
        str(step).startswith("expand_dim") for step in auto(tx.schedule(tx.op(text), **sizes).kernel, NEAR)[0]
    )


def test_values_that_stay_are_not_spread():
    s = tx.schedule(tx.op(RUNNING)).compute_at("s", "Y.t", recompute=False)
    with pytest.raises(tx.ScheduleError) as error:
        s.expand_dim("s", "Y.t")
    assert (
        str(error.value).partition("\n")[0]
        == "error[expand_dim]: an iteration of `t` uses what another one left in s"
    )


def test_a_length_without_a_known_maximum_gives_no_place():
    with pytest.raises(tx.ScheduleError) as error:
        expand_dim(parse_kernel(REST), "t", "k")
    assert str(error.value).startswith(
        "error[expand_dim]: the length of `k` has no known maximum, so the elements have no place\n"
    )
