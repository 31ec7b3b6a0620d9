"""`swizzle`: units of a shared buffer exchanged, so that threads that want a column of it use
different banks.
"""

from __future__ import annotations

from texpr.ir.loop import Kernel
from texpr.ir.swizzle import Swizzle
from texpr.passes.analysis.substitution import over_tensors
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

LARGEST = 1 << 20


@step(order_of_sums="kept")
def swizzle(kernel: Kernel, tensor: str, unit: int, count: int, row: int) -> Kernel:
    """Exchange units of `unit` neighbours of a shared buffer, `count` of them with each other, in
    another way in each row.

    swizzle("A_cache", 8, 4, 64)      element p   ->   p ^ (8 * (p // 64 % 4))

    Only where elements lie changes, not their indices: no two get one place, so it is always legal,
    and takes no memory as `pad` does. Shared memory has 32 banks of 4 bytes. Of rows of 64 bytes,
    every second unit of 16 bytes begins in the same bank; with swizzle(T, 8, 4, 64) of 2 bytes
    each, the eight rows that `ldmatrix` reads at once begin in eight different ones. Vectors and
    rows of instructions stay inside a unit, which is checked when the kernel is compiled. XOR
    swizzle elsewhere.

    Args:
        unit: neighbours that stay together.
        count: units that are exchanged with each other.
        row: elements after which the next pattern begins; at least unit * count. All are powers of
            two.
    Raises:
        ScheduleError: no such buffer, one that threads do not share, or numbers that make no sense.
    Source: Cecka, CuTe Layout Representation and Algebra, 2024.
    Example:
        op = tx.op('''op flip(X: f32[64, 64]) -> Y: f32[64, 64] {
          Y[j, i] = X[i, j] for j in 0..64, i in 0..64
        }''')
        s = tx.schedule(op).tile("j", "i", sizes=(32, 32)).bind("jo", "block.x").bind("ii", "thread.x")
        s.cache_read("X", "io").set_scope("X_cache", "shared")
        s.swizzle("X_cache", 1, 32, 32)
    Refused:
        tx.schedule(op).cache_read("X").swizzle("X_cache", 1, 32, 32)
    Elsewhere: Halide none; TVM `transform_layout`; Exo none; MLIR `nvgpu-optimize-shared-memory` (a
    pass).
    """
    t = find_temporary(kernel, tensor, "swizzle")
    if t.scope != "shared":
        raise ScheduleError(
            f"{tensor} has no banks: it does not live in shared memory",
            code="swizzle",
            help=f'set_scope("{tensor}", "shared")',
        )
    lies = Swizzle(unit, count, row)
    if not all(type(n) is int and n <= LARGEST for n in (unit, count, row)) or not lies.is_one_to_one:
        raise ScheduleError(
            f"swizzle of {count!r} units of {unit!r} elements in rows of {row!r}",
            code="swizzle",
            help=f"powers of two up to 2^20, at least two units, and rows of at least as many elements: "
            f'swizzle("{tensor}", 8, 8, 64)',
        )
    return over_tensors(kernel, {t: replace(t, swizzle=lies)})
