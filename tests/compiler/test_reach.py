"""Sizes for which index arithmetic leaves 64 bits are refused at the call, before anything
wraps.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import texpr as tx

ONE = np.zeros(1, "u1")
WIDE = as_strided(ONE, (1 << 22,), (0,))
HEAD = "op f(X: u8[N], Z: u8[4]) -> Y: u8[4] "
TOO_FAR = {
    "index": (HEAD + "{ Y[i] = Z[i*N*N*N | 0] }", "`i * N * N * N` reaches"),
    "left": (HEAD + "{ Y[i] = 0   Y[i + N*N*N | drop] += 1  for i in 0..4 }", "`N * N * N` reaches"),
    "range": (HEAD + "{ Y[i] = u8(sum(k in 0..N*N*N: 1)) }", "`N * N * N` reaches"),
    "condition": (HEAD + "{ Y[i] = if N*N*N*i > 5 then Z[i] else 0 }", "`N * N * N` reaches"),
    "where": (HEAD + "{ Y[i] = u8(sum(k in 0..4 where k*N*N*N < 5: 1)) }", "`k * N * N * N` reaches"),
    "callee": (
        "op g(X: u8[N], Z: u8[4]) -> Y: u8[4] { Y[i] = Z[i*N*N*N | 0] }\n" + HEAD + "{ Y = g(X, Z) }",
        "`i * N * N * N` reaches",
    ),
}
RUNS = {"compiled": lambda op: op, "interpreted": lambda op: lambda *arrays: tx.interpret(op, *arrays)}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", TOO_FAR)
def test_refused(name, run):
    text, complaint = TOO_FAR[name]
    op = RUNS[run](tx.op(text))
    with pytest.raises(tx.ResourceError) as e:
        op(WIDE, np.zeros(4, "u1"))
    assert complaint in e.value.message
    op(np.zeros(3, "u1"), np.zeros(4, "u1"))


def test_the_whole_message():
    with pytest.raises(tx.ResourceError) as e:
        tx.op(TOO_FAR["index"][0])(WIDE, np.zeros(4, "u1"))
    assert (
        str(e.value)
        == """error[size]: f: `i * N * N * N` reaches 221360928884514619392 at N = 4194304: indices are 64-bit integers
  --> <op>:1:49
  1 | op f(X: u8[N], Z: u8[4]) -> Y: u8[4] { Y[i] = Z[i*N*N*N | 0] }
    |                                                 ^^^^^^^"""
    )


@pytest.mark.parametrize(
    "text", ["Y: u8[N*N*N] { Y[i] = 0 }", "y: u8 { T[i] = X[0] for i in 0..N*N*N  y = T[0] }"]
)
def test_arrays_that_fit_no_memory(text):
    op = tx.op(f"op f(X: u8[N]) -> {text}")
    for call in (op, lambda X: tx.interpret(op, X)):
        with pytest.raises(tx.ResourceError):
            call(WIDE)


def test_small_data_times_large_factors():
    op = tx.op("op f(X: u8[N], Z: u32[M]) -> Y: u8[M] { Y[i] = X[4294967296*i64(Z[i]) | 0] }")
    with pytest.raises(tx.ResourceError, match="i64"):
        op(np.zeros(4, "u1"), np.zeros(4, "u4"))


@pytest.mark.parametrize("index", ["idx[i] + 1", "2*idx[i]", "-idx[i]", "idx[i] - 1", "i64(f64(idx[i])) + 1"])
def test_data_without_a_range_may_wrap(index):
    """What is proven with all integers would be wrong for those near 2^63."""
    text = (
        f"op f(X: f32[N], idx: i64[M]) -> Y: f32[M] {{ Y[i] = if idx[i] > 0 and {index} < N then X[{index}] "
        f"else 0 }}"
    )
    with pytest.raises(tx.CheckError, match="X may be read outside its shape"):
        tx.op(text)
    tx.op(
        text.replace("i64[M]", "i64[M] in 0..N").replace("> 0", "> 1").replace(" <", f" >= 0 and {index} <")
    )
    tx.op(text.replace("idx[i] > 0", f"{index} >= 0"))


def test_products_of_sizes_are_not_negative_and_no_less_than_their_factors():
    tx.op("op f(X: f32[M, N]) -> Y: f32[M*N] { Y[i] = 0 }")
    tx.op("op f(X: f32[M, N], Z: f32[2*M*N]) -> Y: f32[M*N - 1] require M >= 1, N >= 1 { Y[i] = 0 }")
    tx.op("op f(X: f32[M, N], Z: f32[M*N]) -> Y: f32[M, N] { Y[i, j] = Z[i] + Z[j] }")
    tx.op("op f(X: f32[M, N]) -> Y: f32[M, M*N//2] { Y[i, j] = 0 }")
    with pytest.raises(tx.CheckError, match="an extent of Y can be negative"):
        tx.op("op f(X: f32[M, N]) -> Y: f32[M*N - 2] { Y[i] = 0 }")
