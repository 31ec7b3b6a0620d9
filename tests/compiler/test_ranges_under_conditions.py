"""Reductions whose range is data that exist under a condition alone: the range is not looked up
where the condition fails.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

CASES = {
    "an index": "if i + 600 < N then sum(r in 0..p[i + 600]: Z[r] * Z[r]) else 0",
    "data": "if i + 600 < N and Z[0] > 0 then 2 * max(r in 0..p[i + 600] + 1: Z[r | 0]) else 0",
    "the range itself": "if i + 600 < N and p[i + 600] > 1 then sum(r in 0..p[i + 600], q in 0..r: Z[r] * "
    "Z[q]) else 0",
    "a filter": "if i + 600 < N then sum(r in 0..p[i + 600] where r < i: Z[r]) else 0",
    "a filter on data": "if i + 600 < N then sum(r in 0..p[i + 600] where Z[r] > 1 and r < i: Z[r]) else 0",
    "a filter on the range": "if i + 600 < N then sum(r in p[i + 600]..N where r + p[i + 600] < K: Z[r]) "
    "else 0",
    "a place": "if Z[0] >= 0 and i + 600 < N then Z[argmax(r in 0..p[i + 600] + 1: Z[r | 0]) | 0] else 0",
}


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_read(name: str, plain: bool):
    f = tx.op(f"op f(p: i64[N] in 0..K + 1, Z: f64[K]) -> Y: f64[N] {{ Y[i] = {CASES[name]} }}")
    with tx.options(guard="end"):
        kernel = tx.schedule(f).compile() if plain else f
        for n in (4, 604):
            p, Z = np.full(n, 3), np.arange(5.0)
            np.testing.assert_array_equal(kernel(p, Z), tx.interpret(f, p, Z))


def test_a_range_that_constants_leave_out_is_not_looked_up():
    """Written out, the only iteration fails its condition: `p[2, 3]` does not exist, and nothing
    asks for it.
    """
    f = tx.op("""op f(t: f32[N], p: i32[N, N] in 0..N, keep: bool[N], X: f32[M]) -> Y: i64[M - min(1, M)] {
  Y[i - min(1, M)] = if 0 <= i*2 + 1 and i*2 + 1 < N and keep[i*2 + 1] then
    if 0 <= 3 - i and 3 - i < N and i*2 + 1 < N then argmin(r in 0..i64(p[3 - i, i*2 + 1]) + 1: t[r | 0]) else 0
  else 7  for i in min(1, M)..M
}""")
    given = np.ones(3, np.float32), np.ones((3, 3), np.int32), np.ones(3, bool), np.ones(2, np.float32)
    with tx.options(guard="end", cache_dir=None):
        for s in (tx.schedule(f, N=3, M=2), tx.schedule(f, N=3, M=2).auto()):
            np.testing.assert_array_equal(s.compile()(*given), [7])
