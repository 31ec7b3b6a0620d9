"""Lanes that are every second element of memory, or that share elements, come from runs of memory."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

RANDOM = np.random.default_rng(0)
TEXT = """op f(X: {t}[N], m: f32[M]) -> (Y: {t}[M], Z: {t}[2*N], W: {t}[3*N]) require N >= 2*M - 1 {{
  Y[i] = if m[i] > 0 then X[2*i] else X[i]
  Z[i] = X[i//2]
  W[i] = X[i//3]
}}"""


@pytest.mark.parametrize("t", ["f32", "i64", "u8", "bool"])
@pytest.mark.parametrize("n", [1, 16, 33, 48])
def test_picked_lanes(t: str, n: int):
    m = (n + 1) // 2
    x = RANDOM.integers(0, 2 if t == "bool" else 100, n).astype({"f32": "f4", "i64": "i8", "u8": "u1", "bool": "?"}[t])
    mask = RANDOM.normal(size=m).astype("f4")
    kernel = tx.schedule(tx.op(TEXT.format(t=t)), N=n, M=m).auto().compile()
    y, z, w = kernel(x, mask)  # type: ignore[misc]
    np.testing.assert_array_equal(y, np.where(mask > 0, x[::2], x[:m]))
    np.testing.assert_array_equal(z, np.repeat(x, 2))
    np.testing.assert_array_equal(w, np.repeat(x, 3))


def test_no_gathers_are_left():
    pooled = tx.op("op p(X: f32[16, 32]) -> Y: f32[8, 16] { Y[i, j] = max(r in 0..2, q in 0..2: X[2*i + r, 2*j + q]) }")
    assert "gather" not in tx.schedule(pooled).auto().compile("x86-64-v4").llvm
