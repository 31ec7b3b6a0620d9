"""Derivatives whose equations have dozens of reads, and definitions in many pieces: proven,
since each part has a quota.
"""

from __future__ import annotations

from texpr.autodiff import grad
from texpr.ir.printing.tensor import show_program
from texpr.lang import elaborate, parse
from texpr.poly import check_program

PIECES = """op f(X0: f64[K], X1: f64[M, N, M], p: i64[M, K] in 0..K, q: i64[K] in 0..K) -> Y: f64[K, K] {
  let t0: f64[N]
  t0[i] = (if 0 <= i + 1 - 1 and i + 1 - 1 < M and 0 <= i - 1 and i - 1 < N and 0 <= 2*i and 2*i < M then X1[i + 1 - 1, i - 1, 2*i] else 0)
    for i in 0..N // 2
  t0[i] = max(((if 0 <= 2*i + 2*i - 1 < K then X1[i, i, q[2*i - 1] - 1 | 0.5] else 0.5)), X1[2*i + 1, i, p[i + 2, 3 - i | clamp] - 1 | 0])
    for i in N // 2..N
  let t1: f64[K, N]
  t1[i, j] = (if 0 <= i - j and i - j < K then X0[i - j] else 1)
  t1[K - u, p[M - u, 2*u] | clamp] *= (if 0 <= u and u < K and q[u] != 1 then (if 0 <= u and u < K then X0[u] else 0) else t0[u + 1 | 0])
    for u in 0..M where 0 <= M - u and M - u < M and 0 <= 2*u and 2*u < K
  Y[i, j] = (sum(r1 in 0..M: (if 0 <= q[i] + 1 and q[i] + 1 < N then t1[i, q[i] + 1] else 1)) * X1[i % 2, j % 2, j + 2 | clamp])
    where i % 2 == 0
  Y[i, j] = (if q[K - 1 - j] == j
             then ((if 0 <= j + 1 and j + 1 < M then t1[q[i], p[j + 1, K - 1 - j] | clamp] else 0.5) - t1[j, 0 | 0])
             else min(r2 in 0..K: t1[r2, q[i] - 1 | clamp]))
    where not (i % 2 == 0)
}"""


def test_they_are_accepted_as_text():
    twice = grad(grad(elaborate(parse(PIECES, "long.tx").ops["f"], {}, {})))
    assert not check_program(
        elaborate(parse(show_program(twice, with_callees=True), "printed.tx").ops[twice.name], {}, {})
    )
