"""Indices that are data: what clamps and conditions hold inside is proven, what may wrap or
leave is not.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

HEAD = (
    "op f(X: f32[N], Z: f32[N, M], U: f32[L], s: i64, I: i64[B], J: i64[B], W: i32[B], c: u8[B], k: i64[B] "
    "in 0..3, l: i64[B] in -2..4)"
)

WINDOWS = [
    "Y: f32[2] require N >= 2 { Y[i] = X[i + clamp(s, 0, N - 2)] }",
    "Y: f32[2] require N >= 2 { Y[i] = X[i + max(0, min(s, N - 2))] }",
    "Y: f32[2] require N >= 2 { Y[i] = X[min(max(s, 0), N - 2) + i] }",
    "Y: f32[B, 2] require N >= 2 { Y[b, i] = X[i + clamp(I[b], 0, N - 2)] }",
    "Y: f32[B, L] require N >= L { Y[b, i] = X[clamp(I[b], 0, N - L) + i] }",
    "Y: f32[B, 2, 3] require N >= 2, M >= 3 { Y[b, i, j] = Z[clamp(I[b], 0, N - 2) + i, clamp(J[b], 0, M - "
    "3) + j] }",
    "Y: f32[B, 3] require N >= 3 { Y[b, i] = if I[b] >= 0 and I[b] <= N - 3 then X[I[b] + i] else 0 }",
    "Y: f32[B, 3] require N >= 3 { Y[b, i] = if W[b] >= 0 and W[b] <= N - 3 then X[W[b] + i] else 0 }",
    "Y: f32[B, 3] { Y[b, i] = if I[b] >= 0 then (if I[b] < N - 2 then X[I[b] + i] else 0) else 1 }",
    "Y: f32[B, 3] { Y[b, i] = if I[b] < 0 or I[b] >= N - 2 then 0 else X[I[b] + i] }",
    "Y: f32[B, 3] { Y[b, i] = if not (I[b] < 0 or I[b] > N - 3) then X[I[b] + i] else 0 }",
    "Y: f32[B, 3] { Y[b, i] = if 0 <= I[b] <= N - 3 then X[2 + I[b] - i] else 0 }",
    "Y: f32[B] { Y[b] = if 0 <= W[b] < N then X[W[b]] else 0 }",
    "Y: f32[B] { Y[b] = if 0 <= I[b] and I[b] < J[b] and J[b] < N then X[J[b] - I[b]] else 0 }",
    "Y: f32[B] { Y[b] = if I[b] == 3 and N > 5 then X[2 * I[b] - 1] else 0 }",
    "Y: f32[B] { Y[b] = X[N - 1 - clamp(I[b], 0, N - 1)] }",
    "Y: f32[B] { Y[b] = X[clamp(if I[b] < 0 then I[b] + N else I[b], 0, N - 1)] }",
    "Y: f32[B] { Y[b] = sum(j in 0..3 where 0 <= I[b] <= N - 3: X[I[b] + j]) }",
    "Y: f32[B] require N >= 256 { Y[b] = X[c[b]] }",
    "Y: f32[B] require N >= 9 { Y[b] = X[k[b] * (l[b] + 2) // 2] }",
    "Y: f32[B] require N >= 4 { Y[b] = X[clamp(I[b], 0, N - 3) + k[b]] }",
    "Y: f32[N] require N >= 3 { Y[i] = X[i]  Y[clamp(s, 0, N - 3) + k[b]] += U[0]  for b in 0..B }",
    "Y: f32[B] { Y[b] = if X[b | 0] > 0 and 0 <= I[b] and I[b] < N - 1 and X[I[b] + 1] > 0 then X[I[b]] else "
    "0 }",
]
SIZES = {"N": 300, "M": 5, "L": 2, "B": 7}


def arrays(n: int) -> list:
    g = np.random.default_rng(0)
    data = [g.integers(-3, 12, 7) for _ in range(2)]
    for d in data:
        d[:4] = 2**63 - 1, -(2**63), -1, n - 1
    narrow = np.array([0, 1, -1, n - 3, n, 2**31 - 1, -(2**31)], "i4")
    floats = [g.standard_normal(shape).astype("f4") for shape in (n, (n, 5), 2)]
    return [
        *floats,
        2**63 - 1,
        *data,
        narrow,
        np.arange(7, dtype="u1") * 40,
        g.integers(0, 3, 7),
        g.integers(-2, 4, 7),
    ]


@pytest.mark.parametrize("text", WINDOWS)
def test_what_is_held_inside_is_proven(text: str):
    op = tx.op(f"{HEAD} -> {text}")
    for n in (9, 300):
        if n == 300 or "256" not in text:
            np.testing.assert_allclose(op(*arrays(n)), tx.interpret(op, *arrays(n)), rtol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "Y: f32[2] require N >= 2 { Y[i] = X[i + clamp(s, 0, N - 1)] }",
        "Y: f32[2] require N >= 2 { Y[i] = X[i + max(s, 0)] }",
        "Y: f32[2] require N >= 2 { Y[i] = X[i + min(s, N - 2)] }",
        "Y: f32[B, 3] { Y[b, i] = if I[b] >= 0 and I[b] <= N - 2 then X[I[b] + i] else 0 }",
        "Y: f32[B, 3] { Y[b, i] = if I[b] >= 0 and I[b] + i < N then X[I[b] + i] else 0 }",
        "Y: f32[B] { Y[b] = if I[b] > 0 and I[b] + J[b] < N and J[b] >= 0 then X[I[b] + J[b]] else 0 }",
        "Y: f32[B] { Y[b] = X[min(abs(I[b]), N - 1)] }",
        "Y: f32[B] { Y[b] = sum(j in I[b]..J[b]: if j > 0 and j + 2 < N then X[j + 2] else 0) }",
        "Y: f32[B] { Y[b] = if 0 <= I[b] < N then X[4294967296 * I[b] - 4294967295 * I[b]] else 0 }",
        "Y: f32[B] require N >= 8 { Y[b] = X[k[b] * l[b] + 4] }",
        "Y: f32[B] require N >= 9 { Y[b] = X[k[b] * l[b] + 3] }",
        "Y: f32[B] require N >= 9 { Y[b] = X[k[b] * I[b]] }",
    ],
)
def test_what_may_wrap_or_leave_is_not(text: str):
    with pytest.raises(tx.CheckError, match="outside its shape"):
        tx.op(f"{HEAD} -> {text}")


def test_products_of_data_below_sizes():
    head = (
        "op f(X: f32[N], Z: f32[M], E: f32[N*M], F: f32[M*N], k: i64[B] in 0..N, l: i64[B] in 0..M) -> Y: "
        "f32[B]"
    )
    text = f"{head} {{ Y[b] = E[k[b] * l[b]] + F[l[b] * k[b]] }}"
    op = tx.op(text)
    e, first, second = np.arange(12, dtype="f4"), np.array([0, 2, 1]), np.array([3, 3, 0])
    assert op(e[:3], e[:4], e, e, first, second).tolist() == [0, 12, 0]
    with pytest.raises(tx.CheckError, match="outside its shape"):
        tx.op(text.replace("E[k[b] * l[b]]", "E[k[b] * l[b] + N]"))


def test_ranges_of_data():
    op = tx.op(f"{HEAD} -> Y: f32[B] {{ Y[b] = sum(j in max(I[b], 0)..min(J[b], N - 1): X[j + 1]) }}")
    np.testing.assert_allclose(op(*arrays(9)), tx.interpret(op, *arrays(9)), rtol=1e-6)


def test_sizes_for_which_data_in_sums_may_leave_64_bits_are_refused():
    op = tx.op(
        "op f(X: u8[N], I: i64[B]) -> Y: u8[B] { Y[b] = if 0 <= I[b] <= N - 2 then X[I[b] + 1] else 0 }"
    )
    wide = np.broadcast_to(np.zeros(1, "u1"), 2**60)
    with pytest.raises(tx.ResourceError, match="may leave 64 bits where a size is 2\\^48 or more"):
        op(wide, np.zeros(1, "i8"))
    ranged = tx.op("op f(X: u8[N], I: i64[B]) -> Y: i64[B] { Y[b] = sum(k in max(I[b], 0)..N: i64(X[k])) }")
    with pytest.raises(tx.ResourceError, match="may leave 64 bits where a size is 2\\^48 or more"):
        ranged(wide, np.zeros(1, "i8"))
    clamped = tx.op("op f(X: u8[N], s: i64) -> y: u8 require N >= 2 { y = X[clamp(s, 0, N - 2) + 1] }")
    assert clamped(np.arange(9, dtype="u1"), 2**63 - 1) == 8


@pytest.mark.parametrize(
    ("dtype", "symbol", "right"),
    [("u8", "<", 300), ("u8", ">=", 0), ("i8", "<=", 300), ("u16", "==", 0), ("i16", "!=", 300)],
)
def test_a_narrow_integer_is_compared_with_a_size_as_a_number(dtype: str, symbol: str, right: int):
    """300 is no number of 8 bits: what is left of it there, 44, is not what a size means."""
    op = tx.op(f"op f(X: {dtype}[N]) -> y: i64 {{ y = sum(i: if X[i] {symbol} N then 1 else 0) }}")
    x = np.arange(300).astype(np.dtype({"u": "uint", "i": "int"}[dtype[0]] + dtype[1:]))
    assert op(x) == tx.interpret(op, x) == right
