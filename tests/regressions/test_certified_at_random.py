"""Operators that were met at random and had no certified default schedule, cut down: one for
each cause.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import random_arrays

ONE_ELEMENT = """op f(X: f32[K, N], p: i32[N] in 0..K) -> (Y: f32[K, N], s: f32) require N >= 1, K >= 1 {
  let t: f32[K, K, N]
  t[i, j, k] = X[i, j | 0] + sqrt(abs(X[j, k]))
  s = t[0, i64(p[0]), 0]
  Y[i, j] = X[i, j] + s
}"""
"""Data at a constant place says which element a single value is."""
CHOICE = """op f(X: u32[K, N], Z: u32[K, K], p: i32[N] in 0..K) -> Y: u32[K, K, N] {
  let t: u32[K, N, K]
  t[i, j, k] = X[0, j]
  Y[i, j, k] = if t[j - 1, N - 1 - k, j | clamp] > Z[i - 1, i64(p[k]) | clamp] then 7 else X[i, k // 2]
}"""
"""Both sides of a condition on data are read at indices that are equal at these sizes alone, one
of them data itself.
"""
SUMS = """op f(X: i64[K, N]) -> (Y: i64[K, K, K], s: i64) require K >= 1 or N <= 2, N >= 1 or K == 0 {
  let t: i64[K, K]
  let u: i64[K]
  s = sum(r in 2..N: X[r, r | clamp] * r)
  t[i, j] = max(X[i, 0 | 1] + s, X[j - 1, i | clamp])
  u[i] = max(t[i*2 + i - 1, i | 0], s * t[K - 1 - i, i - 1 | clamp] + min(s, t[i - 1, 0 | clamp]))
  Y[i, j, k] = abs(X[k, j | clamp]) * (u[i] + u[k // 2])
}"""
"""Integers of intermediates in arithmetic that may wrap: each part is compared before
definitions stand for what is read.
"""
CHOSEN = """op f(X: i64[K, K, M, 3], Z: i64[N]) -> Y: i64[M] require K >= 1 or M <= 2, K >= 1 or M == 0, N >= 1 or M == 0 {
  let t: i64[M]
  t[i] = max(if i + i < 4 then Z[i | 1] else X[i, 0, i*2, i | clamp],
             if X[i, 0, i, i | clamp] < Z[i | 2] then Z[0 | clamp] else X[i, i, i // 2, i | clamp])
         * (X[0, i, i*2 + i - 1, i | clamp] + X[0, i, i, 0 | 0])
  Y[i] = max(r in 0..N: t[i*2 + i - 1 | 1] + t[i - 1 | 1])
}"""
"""The same in a reduction."""

CASES = {
    "an element that data at a constant place says": (ONE_ELEMENT, {"N": 1, "K": 2}),
    "a choice by what data says": (CHOICE, {"K": 1, "N": 33}),
    "arithmetic on intermediates": (SUMS, {"K": 7, "N": 129}),
    "arithmetic on what is chosen": (CHOSEN, {"K": 7, "M": 33, "N": 100}),
}


@pytest.mark.parametrize("plain", [True, False], ids=["naive", "default"])
@pytest.mark.parametrize("name", CASES)
def test_it_is_certified(name: str, plain: bool):
    text, sizes = CASES[name]
    s = tx.schedule(tx.op(text), **sizes)
    kernel = (s if plain else s.auto()).compile()
    assert "every element used exists" in str(kernel.certificate) and not kernel.fallback
    arrays = random_arrays(s.program, {v: sizes[v.name] for v in s.program.sizes})
    expected, found = tx.interpret(tx.op(text), *arrays), kernel(*arrays)
    for mine, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected))):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
