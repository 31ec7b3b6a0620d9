"""An LSTM: time runs on, everything inside a step is fused, batches run in parallel.

Source: Hochreiter and Schmidhuber, Long Short-Term Memory, Neural Computation 1997.
"""

import texpr as tx

TEXT = """
op lstm(X: f32[L, B, I], Wx: f32[4, H, I], Wh: f32[4, H, H], b: f32[4, H], h0: f32[B, H], c0: f32[B, H])
   -> (h: f32[L+1, B, H], c: f32[L+1, B, H]) {
  h[0, n, j] = h0[n, j]
  c[0, n, j] = c0[n, j]
  g[t, n, q, j] = b[q, j] + sum(i: X[t, n, i] * Wx[q, j, i]) + sum(k: h[t, n, k] * Wh[q, j, k])  for t in 0..L
  c[t+1, n, j] = sigmoid(g[t, n, 1, j]) * c[t, n, j] + sigmoid(g[t, n, 0, j]) * tanh(g[t, n, 2, j])  for t in 0..L
  h[t+1, n, j] = sigmoid(g[t, n, 3, j]) * tanh(c[t+1, n, j])  for t in 0..L
}
"""


def schedule(**sizes: int) -> tx.Schedule:
    """Sums over inputs and over hidden units with 16 results at a time, sequences of the batch
    in parallel, time in order.
    """
    s = tx.schedule(tx.op(TEXT), **sizes)
    s.reorder("g_sum.i", "g_sum.q", "g_sum.j").split("g_sum.j", 16).vectorize("g_sum.ji").parallel("g_sum.t")
    s.reorder("g_sum_.k", "g_sum_.q", "g_sum_.j").split("g_sum_.j", 16).vectorize("g_sum_.ji").parallel(
        "g_sum_.n"
    )
    s.split("g.j", 16).vectorize("g.ji").split("c.1.j", 16).vectorize("c.1.ji")
    return s.split("h.1.j", 16).vectorize("h.1.ji")
