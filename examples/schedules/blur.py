"""A 3x3 box blur in two passes, tile by tile: each tile computes the rows of the first pass that it
needs, two of them again.

Halide's first example. Source: Ragan-Kelley et al., Halide, PLDI 2013.
"""

import texpr as tx

TEXT = """
op blur(X: f32[H, W]) -> Y: f32[H, W] {
  T[i, j] = (X[i, j-1 | clamp] + X[i, j] + X[i, j+1 | clamp]) / 3
  Y[i, j] = (T[i-1, j | clamp] + T[i, j] + T[i+1, j | clamp]) / 3
}
"""


def schedule(**sizes: int) -> tx.Schedule:
    """Tiles of 32 rows in parallel, 64 columns in vectors; the first pass stays in a buffer of
    34 rows.
    """
    s = tx.schedule(tx.op(TEXT), **sizes)
    s.tile("Y.i", "Y.j", sizes=(32, 64)).compute_at("T", "Y.jo", recompute=True)
    return s.vectorize("Y.ji").vectorize("T.j").parallel("Y.io")


def sliding(**sizes: int) -> tx.Schedule:
    """Row by row: each row of the first pass is computed once and kept while it is needed."""
    s = tx.schedule(tx.op(TEXT), **sizes)
    return s.compute_at("T", "Y.i", slide=True).fold_storage("T", 0, 4)
