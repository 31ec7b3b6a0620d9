"""`pad`: a dimension of a buffer made longer, so that rows lie further apart."""

from __future__ import annotations

from texpr.ir.affine import linear
from texpr.ir.build import add, floordiv
from texpr.ir.expr import index, plain
from texpr.ir.loop import Kernel
from texpr.schedule.steps.buffers.layout import LARGEST, is_number, moved, times
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step(order_of_sums="kept")
def pad(kernel: Kernel, tensor: str, dimension: int, multiple: int, *, extra: int = 0) -> Kernel:
    """Round the size of one dimension of a buffer up to a multiple, and add `extra` elements: rows
    that begin aligned, or in different sets of a cache. What is added is never touched. Always
    legal. storage_align elsewhere.

    pad("T", 1, 16)   let T: f32[8, 50]   ->   let T: f32[8, 64]

    Raises:
        ScheduleError: no such buffer or dimension, or numbers that make no sense.
    Example:
        op = tx.op('''op flip(X: f32[M, N]) -> Y: f32[N, M] {
          Y[j, i] = X[i, j] for j in 0..N, i in 0..M
        }''')
        s = tx.schedule(op, M=64, N=64).tile("j", "i", sizes=(16, 16)).cache_read("X", "io")
        s.pad("X_cache", 1, 16, extra=1)
    Refused:
        tx.schedule(op).pad("X", 1, 16)
    Elsewhere: Halide `align_storage`; TVM `storage_align`; Exo `resize_dim`; MLIR none.
    """
    t = find_temporary(kernel, tensor, "pad")
    if not is_number(dimension) or not 0 <= dimension < t.rank:
        raise ScheduleError(
            f"{tensor} has no dimension {dimension!r}",
            code="pad",
            help=f"its dimensions are 0 to {t.rank - 1}",
        )
    if (
        not is_number(multiple)
        or not 1 <= multiple <= LARGEST
        or not is_number(extra)
        or not 0 <= extra <= LARGEST
    ):
        raise ScheduleError(
            f"pad to a multiple of {multiple!r} and {extra!r} more",
            code="pad",
            help="a multiple from 1 to 2^20, and from 0 to 2^20 more",
        )
    shape = list(t.shape)
    rounded = floordiv(add(shape[dimension], index(multiple - 1)), index(multiple))
    shape[dimension] = linear(add(times(rounded, multiple), index(extra))).expr()
    return moved(kernel, t, replace(t, dims=plain(*shape)), lambda indices, _: tuple(indices))
