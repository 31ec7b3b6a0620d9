"""Outputs that caches would not hold are written past them."""

from __future__ import annotations

from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.schedule.packing import LINE
from texpr.schedule.plan import Plan


def goes_past_caches(plan: Plan, tensor: Tensor) -> bool:
    """Whether an output is written past the caches: they would not hold what the kernel uses, and its rows begin at whole lines."""
    caches, used = plan.machine.caches, [_bytes(t) for t in (*plan.kernel.inputs, *plan.kernel.outputs)]
    size, row = _bytes(tensor), integer(tensor.shape[-1]) if tensor.shape else None
    if not plan.machine.streams or not caches or size is None or row is None or row * tensor.dtype.bytes % LINE:
        return False
    return size > caches[:2][-1] and sum(n or 0 for n in used) >= caches[-1]


def _bytes(tensor: Tensor) -> int | None:
    sizes = [integer(n) for n in tensor.shape]
    return None if None in sizes else prod(n for n in sizes if n is not None) * tensor.dtype.bytes
