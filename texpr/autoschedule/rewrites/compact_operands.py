"""Operands of products that are read in steps, such as those of convolutions of one tap with a step
of two: what is read of them is copied first, so that neighbours are neighbours in memory.

    Y[o, i, j] = sum(c: W[o, c] * X[c, 2*i, 2*j])   ->   Z[c, i, j] = X[c, 2*i, 2*j]
                                                         Y[o, i, j] = sum(c: W[o, c] * Z[c, i, j])

The product then walks through all positions as one, as other products do.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.autoschedule.rewrites.rewrite_costs import REWRITE_COSTS
from texpr.ir.affine import linear
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import Kernel
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import Access


def compact_operands(builder: ScheduleBuilder) -> None:
    """Copy the inputs that large products read in steps."""
    for nest in find_nests(builder.kernel):
        for operand in _read_in_steps(nest):
            if _reads(builder.kernel, operand.tensor) == 1 and _is_used_often(nest, operand):
                builder.try_apply("cache_read", operand.tensor)


def _read_in_steps(nest: Nest) -> list[Access]:
    """The operands of a product that are read at every second element, or fewer, along a loop that
    is alone in its index.
    """
    if not nest.reduction or nest.outer or nest.enclosing_loops or len(nest.accesses) != 3:
        return []
    if any(constant_extent(n) == 0 for n in nest.loops):
        return []
    return [a for a in nest.accesses[1:] if _is_in_steps(nest, a)]


def _is_in_steps(nest: Nest, operand: Access) -> bool:
    forms = [linear(i) for i in operand.indices]
    if not all(f.is_affine and len(f.terms) <= 1 for f in forms):
        return False
    return any(abs(f.coefficient(n.var)) > 1 for f in forms for n in nest.spatial)


def _is_used_often(nest: Nest, operand: Access) -> bool:
    """True if many sums use each element, in vectors' number."""
    uses = prod(constant_extent(n) for n in nest.spatial if operand.stride(n.var) == 0)
    return uses >= REWRITE_COSTS.compacted_uses


def _reads(kernel: Kernel, tensor: Tensor) -> int:
    return sum(isinstance(n, Read) and n.tensor is tensor for n in walk(*kernel.body))
