"""Default schedules that are right and were not certified once: the proof is found."""

from __future__ import annotations

import pytest

import texpr as tx

SIZED = {
    "an offset chosen by data behind a guard": (
        "op up(u: f32[N], v: f32[N]) -> w: f32[N] { d[i] = if v[i] > 0 then 1 else -1  w[i] = u[i] - u[i - "
        "d[i] | 0] }",
        {"N": 50},
    ),
    "a write at an offset of data, computed in two nests": (
        """op g(v: f32[N], dw: f32[N]) -> du: f32[N] {
  d[i] = if v[i] > 0 then 1 else -1
  du[i] = dw[i]
  du[i - d[i] | drop] += -dw[i] }""",
        {"N": 50},
    ),
    "a write at a scalar index": (
        "op f(X: f32[M, L], k: i64, U: f32[K]) -> Y: f32[M, L] { Y[j, l] = X[j, l]  Y[k, b | drop] += U[b] }",
        {"M": 50, "L": 3, "K": 3},
    ),
    "copies of 64-bit data past the end": (
        "op mm(A: i64[M, K], B: i64[K, N]) -> C: i64[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        {"M": 127, "N": 127, "K": 127},
    ),
    "a choice by data inside a choice by an index": (
        """op f(a: f32[N], b: f32[N], c: f32[N]) -> C: f32[N] {
  C[i] = if i >= 1 then (if b[i - 1] < 0 then a[i - 1] else c[i]) else c[i] }""",
        {"N": 50},
    ),
    "a term at an index that only the program knows to be inside": (
        "op f(X: f32[N], k: i64) -> Y: f32 { p = argmax(i: X[i])  Y = sum(r in 0..3: X[max(0, min(p + r, N - "
        "1))]) }",
        {"N": 50},
    ),
    "a comparison of integers with definitions on one side": (
        """op f(X: i8[1, 1, N]) -> Y: i8 {
  let t0: i8[N, N]
  t0[i, j] = X[0, j, j | 0]
  let t2: i8[N, N, 1]
  t2[i, j, k] = max(r1 in j..N, r2 in 0..1: X[0, 0, i // 2])
  Y = abs((if t0[0, 0 | clamp] <= t2[0, 0, 0 | clamp] then X[0, 0, 0 | 1] else max(X[0, 0, 0 | 2], 0))) }""",
        {"N": 520},
    ),
    "data compared at indices that are equal in one case": (
        """op f(X: i32[K, N, K]) -> Y: i32[K, K] {
  Y[i, j] = X[i - 1, i, j | clamp]  for i in 0..K // 2
  Y[i, j] = if X[2 * i, 0, 2 * j + i - 1 | clamp] > X[2 * i + i - 1, j, i - i | clamp] then i32(j) else X[K - 1 - j, 0, j | 1]
    for i in K // 2..K }""",
        {"K": 3, "N": 520},
    ),
    "a sum with a tensor of zeros": (
        """op f(Z: u8[K, N]) -> Y: u8[K] {
  let t: u8[K, N]
  t[i, j] = 0
  Y[i] = t[i + 1, 0 | clamp] + Z[0, i | clamp] }""",
        {"K": 2, "N": 520},
    ),
    "updates that never run": (
        """op f(Z: u8[N], X: u8[M]) -> Y: u8[N, M] {
  Y[i, j] = Z[i]
  Y[u // 2, u % 2 | drop] += 2  for u in 0..N }""",
        {"M": 0, "N": 64},
    ),
    "an output that begins as a copy of a temporary": (
        """op f(X: f32[N], Z: f32[K]) -> Y: f32[N] {
  let t: f32[K, K]
  t[i, j] = sum(r in 0..i + 1: Z[j + 1 | clamp] - X[j | clamp])
  Y[i] = t[0, i | 0]
  Y[v + v | drop] += X[v - 1 | clamp]  for v in 0..N }""",
        {"N": 1, "K": 3},
    ),
}


@pytest.mark.parametrize("name", SIZED)
def test_certified(name: str):
    text, sizes = SIZED[name]
    op = tx.op(text)
    assert tx.schedule(op, **sizes).auto().certificate()
    assert tx.schedule(op).auto().certificate()
