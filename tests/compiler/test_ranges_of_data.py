"""Reductions whose range is data of 64 bits, which ends before it begins, or far away: proven, and nothing outside is read."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

RANGES = {
    "a window": "max(I[b], 0)..min(I[b] + 3, N)",
    "from a place on": "max(I[b], 0)..N",
    "clamped": "clamp(I[b], 0, N)..N",
    "up to a place": "0..min(I[b], N)",
    "an intermediate": "s[b]..N",
}
NUMBERS = [-(1 << 63), -2, 0, 3, 9, 10, 11, 1 << 50, (1 << 62) + 5, (1 << 63) - 2, (1 << 63) - 1]


@pytest.mark.parametrize("plain", [False, True], ids=["default", "plain"])
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_ranges(name: str, dtype: str, plain: bool):
    extents = RANGES[name]
    let = "let s: i64[B]  s[b] = clamp(i64(I[b]), 0, N)  " if "s[b]" in extents else ""
    f = tx.op(f"op f(X: f32[N], I: {dtype}[B]) -> Y: f32[B] {{ {let}Y[b] = sum(k in {extents}: X[k]) }}")
    x = np.arange(10, dtype=np.float32)
    at = np.array(NUMBERS if dtype == "i64" else [n for n in NUMBERS if abs(n) < 1 << 31], dtype.replace("i", "int"))
    with tx.options(guard="end", cache_dir=None):
        kernel = tx.schedule(f).compile() if plain else f
        np.testing.assert_array_equal(kernel(x, at), tx.interpret(f, x, at))
