"""A matrix product in blocks for three caches: both operands packed, a tile of 8 x 32 sums in
registers, sums in the order of the program.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008.
"""

import texpr as tx

TEXT = "op gemm(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"


def schedule(**sizes: int) -> tx.Schedule:
    """A block of 256 x 512 of B in the second cache, 8 rows of A in the first, rows in parallel."""
    s = tx.schedule(tx.op(TEXT), **sizes).allow_fma()
    s.split("C.j", 32, tail="mask").split("C.jo", 16, tail="clip").split("C.i", 8, tail="peel").split(
        "C.k", 256, tail="clip"
    )
    s.reorder("C.joo", "C.ko", "C.io", "C.joi", "C.ki", "C.ii", "C.ji")
    pack(s, "B", at="C.ko", loop="B_cache.d1", layout="a b -> b/32 a b%32")
    s.cache_read("A", "C.io").layout("A_cache", "a b -> b a")
    s.cache_write("C_acc", "C.joi").unroll("C_acc_tile.d0").vectorize("C_acc_tile.d1")
    return s.unroll("C.ii").vectorize("C.ji").parallel("C.io")


def pack(s: tx.Schedule, operand: str, *, at: str, loop: str, layout: str) -> None:
    """Copy what an iteration of a loop reads of an operand into panels of 32 columns."""
    s.cache_read(operand, at).layout(f"{operand}_cache", layout)
    s.split(loop, 32).reorder(f"{loop}o", f"{operand}_cache.d0", f"{loop}i").vectorize(f"{loop}i")
