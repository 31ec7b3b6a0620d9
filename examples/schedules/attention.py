"""Attention, eight queries at a time: scores, their softmax and the weighted values of a block of
rows never leave the cache.

Source: Vaswani et al., Attention Is All You Need, NeurIPS 2017.
"""

import texpr as tx

TEXT = """
op attention(Q: f32[L, D], K: f32[M, D], V: f32[M, E]) -> O: f32[L, E] require M >= 1 {
  S[i, j] = sum(d: Q[i, d] * K[j, d]) * rsqrt(f32(D))
  m[i] = max(j: S[i, j])
  P[i, j] = exp(S[i, j] - m[i])
  z[i] = sum(j: P[i, j])
  O[i, e] = sum(j: P[i, j] * V[j, e]) / z[i]
}
"""


def schedule(**sizes: int) -> tx.Schedule:
    """Everything at a block of rows; values in vectors, blocks in parallel; no sum changes its
    order.
    """
    s = tx.schedule(tx.op(TEXT), **sizes).split("O.i", 8)
    for producer in ("z", "P", "m", "S"):
        s.compute_at(producer, "O.io")
    s.reorder("O.j", "O.ii", "O.e").split("O.e", 16).vectorize("O.ei")
    return s.split("P.j", 16).vectorize("P.ji").parallel("O.io")
