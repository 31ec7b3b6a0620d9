"""Reductions whose range is data of 64 bits, which ends before it begins, or far away: proven,
and nothing outside is read.
"""

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
    at = np.array(
        NUMBERS if dtype == "i64" else [n for n in NUMBERS if abs(n) < 1 << 31], dtype.replace("i", "int")
    )
    with tx.options(guard="end", cache_dir=None):
        kernel = tx.schedule(f).compile() if plain else f
        np.testing.assert_array_equal(kernel(x, at), tx.interpret(f, x, at))


@pytest.mark.parametrize("sizes", [{}, {"B": 6, "N": 5}], ids=["symbolic", "constant"])
@pytest.mark.parametrize("guard", ["clamp", "wrap", "reflect", "3", "J[b]"])
def test_ranges_are_read_with_guards(guard: str, sizes: dict[str, int]):
    """In a range as anywhere else an index outside gives what its guard says: in a sum's, and in
    one that another range stands in.
    """
    f = tx.op(f"""op f(X: f32[N], I: i64[B] in 0..N + 1, J: i64[B] in 0..4) -> (Y: f32[B], Z: f32[B]) require B >= 2, N >= 3 {{
  Y[b] = sum(k in 0..I[b + 1 | {guard}]: X[k])
  Z[b] = sum(k in J[b - 1 | {guard}]..N, j in 0..J[b + 1 | {guard}]: X[k] * f32(j))
}}""")
    x, i, j = np.arange(1, 6, dtype=np.float32), np.array([3, 0, 5, 1, 2, 4]), np.array([1, 2, 3, 0, 1, 2])
    with tx.options(guard="end", cache_dir=None):
        for s in (tx.schedule(f, **sizes), tx.schedule(f, **sizes).auto()):
            for mine, theirs in zip(s.compile()(x, i, j), tx.interpret(f, x, i, j)):
                np.testing.assert_array_equal(mine, theirs)
