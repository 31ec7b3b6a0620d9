"""Outputs that caches would not hold are written past them."""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Store
from texpr.schedule.cheap import iterations, operations
from texpr.schedule.loops import paths
from texpr.schedule.packing import LINE
from texpr.schedule.plan import Plan
from texpr.schedule.tensors import bytes_of

LIGHT = 0.5
"""Operations for a byte of inputs and outputs, below which a kernel waits for memory and not for arithmetic."""


def past_caches(plan: Plan) -> list[str]:
    """Outputs that are written past the caches: those would not hold what the kernel uses, and rows begin at whole lines.

    What waits for memory gains much where all caches together hold what it uses; behind arithmetic, memory is idle anyway.
    """
    caches, used = plan.machine.caches, _used(plan)
    if not plan.machine.streams or not caches or used < caches[-1]:
        return []
    if used <= sum(caches) and _arithmetic(plan) < LIGHT * used:
        return []
    return [t.name for t in plan.kernel.outputs if bytes_of(t) > caches[:2][-1] and _is_in_lines(t)]


def is_best_by_rows(plan: Plan, output: Tensor) -> bool:
    """Whether light elements are computed fastest a row after the other: near, what rows have in common comes for nothing; and past the
    caches, one row at a time is written fastest.
    """
    return _used(plan) <= plan.nearby or output.name in past_caches(plan)


def _used(plan: Plan) -> int:
    """Bytes of inputs and outputs."""
    return sum(bytes_of(t) for t in (*plan.kernel.inputs, *plan.kernel.outputs))


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
