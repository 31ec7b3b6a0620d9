"""Operators that the tests of this folder register, each with the same of torch's."""

from __future__ import annotations

import texpr as tx

SILU = tx.op("op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / (1 + exp(-X[i])) }")
LINEAR = tx.op("""
op affine<T: float>(A: T[N, K], B: T[K, M], c: T[M] = 0) -> Y: T[N, M] {
  Y[i, j] = sum(k: A[i, k] * B[k, j]) + c[j]
}""")
POWER = tx.op(
    "op power<T: float>(X: T[N, M]; p = 2, shift = 0.0) -> Y: T[N, M] { Y[i, j] = X[i, j] ** p + shift }"
)
GATHER = tx.op("op gather<T: float>(X: T[N], k: i64[M] in 0..N) -> Y: T[M] { Y[i] = X[k[i]] }")
TOP = tx.op("""
op top<T: float>(X: T[N, M]) -> (Y: T[N], at: i64[N]) require M >= 1 {
  Y[i] = max(j: X[i, j])
  at[i] = argmax(j: X[i, j])
}""")
SIZES = tx.op("op pairs(X: f32[N], Y: f32[2*N + 1]) -> Z: f32[N + 3] { Z[i] = X[i | 0] + Y[2 * i | 0] }")
