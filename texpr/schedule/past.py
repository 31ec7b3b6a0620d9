"""Outputs that caches would not hold are written past them."""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Store
from texpr.schedule.cheap import iterations, operations
from texpr.schedule.loops import paths
from texpr.schedule.nests import Nest
from texpr.schedule.packing import LINE
from texpr.schedule.plan import Plan
from texpr.schedule.tensors import bytes_of

LIGHT = 0.5
"""Operations for a byte of inputs and outputs, below which a kernel waits for memory and not for arithmetic."""
NEAR = 4
"""Part of the first cache that what all rows use may take."""


def past_caches(plan: Plan) -> list[str]:
    """Outputs that are written past the caches: those would not hold what the kernel uses, and rows begin at whole lines.

    What waits for memory gains much where all caches together hold what it uses; behind arithmetic, memory is idle anyway.
    """
    caches, used = plan.machine.caches, sum(bytes_of(t) for t in (*plan.kernel.inputs, *plan.kernel.outputs))
    if not plan.machine.streams or not caches or used < caches[-1]:
        return []
    if used <= sum(caches) and _arithmetic(plan) < LIGHT * used:
        return []
    return [t.name for t in plan.kernel.outputs if bytes_of(t) > caches[:2][-1] and _is_in_lines(t)]


def is_best_by_rows(plan: Plan, nest: Nest, rows: For) -> bool:
    """Whether light elements are computed fastest a row after the other: where what rows have in common stays in the first cache, it comes
    for nothing; and past the caches, one row at a time is written fastest.
    """
    common = sum(bytes_of(a.tensor) for a in nest.accesses[1:] if a.stride(rows.var) == 0)
    return NEAR * common <= next(iter(plan.machine.caches), 0) or nest.main.tensor.name in past_caches(plan)


def vectorize_elements(plan: Plan, nest: Nest, loop: str, *, light: bool) -> None:
    """Vectorize a loop of elements that are computed side by side. Light ones wait for what they load, and take halves of registers where
    those come as fast, unless whole lines are written past the caches.
    """
    strips, half = "", plan.lanes(nest) // 2
    if light and half > 1 and plan.machine.halves and nest.main.tensor.name not in past_caches(plan):
        strips, loop = plan.cut(loop, half)
    if plan.step("vectorize", loop) and strips:
        plan.step("unroll", strips)


def _is_in_lines(tensor: Tensor) -> bool:
    row = integer(tensor.shape[-1])
    return row is not None and row * tensor.dtype.bytes % LINE == 0


def _arithmetic(plan: Plan) -> int:
    """Operations of a run of the kernel, without those that are the same for all iterations of an innermost loop."""
    total = 0
    for above, s in paths(plan.kernel):
        loops = [n for n in above if isinstance(n, For)]
        if isinstance(s, Store) and loops:
            total += iterations(above) * operations(s.value, along=loops[-1].var)
    return total
