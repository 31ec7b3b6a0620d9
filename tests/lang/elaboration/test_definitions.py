"""What an equation says of an intermediate of integers or conditions holds where it is read;
conditions on floats hide no others.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

HEAD = (
    "op f(X: f32[N], E: f32[M], k: i64[N], r: i32[N] in 0..M, c: bool[N]) -> Y: f32[N] require M >= 4 {{ {} "
    "}}"
)
PROVEN = [
    "s[i] = clamp(k[i], 0, M - 4)  Y[i] = E[s[i] + 2] + X[i]",
    "s[i] = r[i]  Y[i] = E[s[i]] + X[i]",
    "s[i] = r[i]  t[i] = s[i]  Y[i] = E[t[i]] + X[i]",
    "s[i] = M - 1 - i64(r[i])  Y[i] = E[s[i]] + X[i]",
    "s[i] = if c[i] then 0 else M - 1  Y[i] = E[s[i]] + X[i]",
    "s[i] = if k[i] < 0 then k[i] + M else k[i]  ok[i] = 0 <= s[i] and s[i] < M  Y[i] = if ok[i] then "
    "E[s[i]] else X[i]",
    "ok[i] = 0 <= k[i] and k[i] < M  Y[i] = if ok[i] then E[k[i]] else X[i]",
    "bad[i] = k[i] < 0 or k[i] >= M  Y[i] = if c[i] or bad[i] then X[i] else E[k[i]]",
    "ok[i] = (0 <= k[i] and k[i] < M) != false  Y[i] = if ok[i] then E[k[i]] else X[i]",
    "m[i] = argmax(j in 0..M: E[j] * X[i])  s[i] = max(m[i] - 1, 0)  Y[i] = E[s[i]]",
    "s[i] = k[i] % 4  Y[i] = E[s[i]] + X[i]",
    "s[i] = r[i] // 2  Y[i] = E[s[i]] + X[i]",
    "s[i] = bit_and(k[i], 3)  Y[i] = E[s[i]] + X[i]",
    "s[i, j] = if j == 0 then r[i] else r[N - 1 - i]  for j in 0..2  Y[i] = E[s[i, 0]] - E[s[i, 1]] + X[i]",
    "s[i] = clamp(k[i], 0, M - 1)  T[j] = E[j]  T[s[i]] += X[i]  Y[i] = T[r[i]]",
    "lo[i] = r[i] // 2  hi[i] = min(r[i] + 1, i32(3))  Y[i] = X[i] + sum(j in 0..M where lo[i] <= j and j < "
    "hi[i]: E[j])",
    # Conditions on floats beside those that bound an index.
    "Y[i] = if X[i] > 0 and 0 <= k[i] and k[i] < M then E[k[i]] else 0",
    "Y[i] = if 0 <= k[i] and X[i] > 0 and k[i] < M then E[k[i]] else 0",
    "Y[i] = if 0 <= k[i] and k[i] < M and X[i] > 0 then E[k[i]] else 0",
    "Y[i] = if not (X[i] <= 0 or k[i] < 0 or k[i] >= M) then E[k[i]] else 0",
    "Y[i] = if k[i] < 0 or X[i] <= 0 or k[i] >= M then 0 else E[k[i]]",
    "Y[i] = if 0 <= k[i] then (if X[i] > 0 then (if k[i] < M then E[k[i]] else 0) else 1) else 0",
    "Y[i] = if (if X[i] > 0 then 0 <= k[i] and k[i] < M else false) then E[k[i]] else 0",
    "Y[i] = if sum(j: X[j]) > 0 and 0 <= k[i] < M then E[k[i]] else 0",
    "S[i] = sum(j in 0..i + 1: X[j])  for i in 0..N  Y[i] = if S[i] > 0 and 0 <= k[i] < M then E[k[i]] else "
    "0",
    "p[i] = X[i] > 0  Y[i] = if p[i] and 0 <= k[i] < M then E[k[i]] else 0",
    "Y[i] = sum(q in 0..N where X[i] > 0 and 0 <= k[q] and k[q] < M: E[k[q]])",
    "Y[i] = 0  Y[i] += E[k[i]] where 0 <= k[i] and X[i] > 0.5 and k[i] < M",
    "Y[i] = max(q in 0..N: if isnan(X[q]) or k[q] < 0 or k[q] >= M then -inf else E[k[q]])",
    "Y[i] = if (X[i] > 0 or X[i] < -1) and 0 <= k[i] < M then E[k[i]] else 0",
    "Y[i] = if (0 <= k[i] and k[i] < M) == true and X[i] > 0 then E[k[i]] else 0",
]


def given(m: int, n: int) -> list[np.ndarray]:
    g = np.random.default_rng(n)
    k = g.integers(-3, m + 3, n)
    k[:2], k[-1:] = np.iinfo("i8").min, np.iinfo("i8").max
    return [
        g.standard_normal(n).astype("f4"),
        g.standard_normal(m).astype("f4"),
        k,
        g.integers(0, m, n).astype("i4"),
        g.random(n) < 0.5,
    ]


@pytest.mark.parametrize("body", PROVEN)
def test_proven_and_computed(body: str):
    f = tx.op(HEAD.format(body))
    for m, n in ((4, 1), (9, 23)):
        arrays = given(m, n)
        assert np.allclose(f(*arrays), tx.interpret(f, *arrays), atol=1e-5, equal_nan=True)


REFUSED = [
    "s[i] = r[i] + 1  Y[i] = E[s[i]] + X[i]",
    "s[i] = clamp(k[i], 0, M)  Y[i] = E[s[i]] + X[i]",
    "ok[i] = 0 <= k[i] and k[i] < M  Y[i] = if ok[i] then X[i] else E[k[i]]",
    "ok[i] = 0 <= k[i] and k[i] < M  Y[i] = if ok[N - 1 - i] then E[k[i]] else X[i]",
    "ok[i] = 0 <= k[i] or k[i] < M  Y[i] = if ok[i] then E[k[i]] else X[i]",
    "ok[i] = (0 <= k[i] and k[i] < M) == c[i]  Y[i] = if ok[i] then E[k[i]] else X[i]",
    "s[i] = k[i] % -4  Y[i] = E[s[i]] + X[i]",
    "s[i] = bit_and(k[i], -4)  Y[i] = E[s[i]] + X[i]",
    "s[i] = k[i] + 4  Y[i] = if k[i] >= 0 and s[i] < M then E[s[i] | 0] + E[k[i]] else X[i]",
    "let s: i64[N]  s[i] = 0  s[i] += k[i]  Y[i] = E[s[i]] + X[i]",
    "let s: i64[N]  s[i] = 0 where c[i]  s[i] = k[i] where not c[i]  Y[i] = E[s[i]] + X[i]",
    "s[i] = s[i - 1 | 0] + 1  Y[i] = E[s[i]] + X[i]",
    "Y[i] = if X[i] > 0 or (0 <= k[i] and k[i] < M) then E[k[i]] else 0",
    "Y[i] = if X[i] > 0 and 0 <= k[i] then E[k[i]] else 0",
    "Y[i] = if (0 <= k[i] < M) == (X[i] > 0) then E[k[i]] else 0",
    "Y[i] = if (0 <= k[i] < M) != (X[i] > 0) then E[k[i]] else 0",
]


@pytest.mark.parametrize("body", REFUSED)
def test_no_more_than_is_said(body: str):
    with pytest.raises(tx.CheckError):
        tx.op(HEAD.format(body))


def test_sizes_that_the_type_does_not_hold():
    """N - 4 of i32 is below 0 at sizes beyond 2^31."""
    text = (
        "op f(X: f32[N], k: i32[M]) -> Y: f32[M] require N >= 4{} {{ s[i] = clamp(k[i], 0, N - 4)  Y[i] = "
        "X[s[i] + 2] }}"
    )
    with pytest.raises(tx.CheckError) as e:
        tx.op(text.format(""))
    assert e.value.help == "add `require N <= 2147483651`"
    f = tx.op(text.format(", N <= 2147483651"))
    x, k = np.arange(9, dtype="f4"), np.array([-5, 0, 3, 99], "i4")
    assert f(x, k).tolist() == [2.0, 2.0, 5.0, 7.0]
