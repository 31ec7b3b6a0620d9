"""Gauss-Seidel sweeps as a wavefront.

Each point needs its left and upper neighbour of this sweep and its right and lower ones of the
last, so neither loop over points can run in parallel. Skewed by the rows, all points of an
anti-diagonal are independent.
"""

import texpr as tx

TEXT = """
op gauss_seidel(U0: f32[N, M]; SWEEPS = 4) -> V: f32[N, M] require SWEEPS >= 0 {
  let U: f32[SWEEPS + 1, N, M]
  U[0, i, j] = U0[i, j]
  U[t+1, i, j] = 0.25 * (U[t+1, i-1, j | 0] + U[t+1, i, j-1 | 0] + U[t, i+1, j | 0] + U[t, i, j+1 | 0])  for t in 0..SWEEPS
  V[i, j] = U[SWEEPS, i, j]
}
"""


def schedule(**sizes: int) -> tx.Schedule:
    """Anti-diagonals one after another, the points of each at once."""
    s = tx.schedule(tx.op(TEXT), **sizes)
    s.skew("U.1.j", "U.1.i").reorder("U.1.j", "U.1.i").parallel("U.1.i")
    return s.split("V.j", 16).vectorize("V.ji").parallel("V.i")
