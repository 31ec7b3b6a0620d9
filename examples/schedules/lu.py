"""LU decomposition without pivoting, right-looking: step k subtracts a rank-1 product from what is
left.

The steps follow each other; within one, all rows are independent and the columns of a row fill
vectors.
Source: Golub and Van Loan, Matrix Computations, algorithm 3.2.1.
"""

import texpr as tx

TEXT = """
op lu(A: f32[N, N]) -> F: f32[N, N] {
  let S: f32[N + 1, N, N]
  S[0, i, j] = A[i, j]
  S[k+1, i, j] = if i > k and j > k then S[k, i, j] - S[k, i, k] / S[k, k, k] * S[k, k, j] else
                 if i > k and j == k then S[k, i, j] / S[k, k, k] else S[k, i, j]  for k in 0..N, i in 0..N, j in 0..N
  F[i, j] = S[N, i, j]
}
"""


def schedule(**sizes: int) -> tx.Schedule:
    """Rows in parallel, 16 columns at a time, two matrices instead of N + 1."""
    s = tx.schedule(tx.op(TEXT), **sizes)
    s.split("S.1.j", 16).vectorize("S.1.ji").parallel("S.1.i")
    return s.split("F.j", 16).vectorize("F.ji").parallel("F.i")
