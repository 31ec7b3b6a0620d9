"""Sums whose terms lie in short runs far from each other, such as those of each channel of a batch
of images.

One sum after the other, each would fetch a run, leap, fetch the next one: what fetches memory ahead
starts anew each time. Instead a block of neighbouring sums goes through memory in its order. Every
sum adds its terms in the order it had.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.loop import For
from texpr.schedule.structure.tensors import bytes_of


def in_memory_order(
    builder: ScheduleBuilder, nest: Nest, vector: For
) -> tuple[LoopHandle, LoopHandle] | None:
    """Cut the innermost loop over sums into blocks that belong inside of the outermost loop over
    terms; both parts.

    None where memory has another order, where runs are long or few or the second cache holds them,
    or where cores would have no block each.
    """
    terms = [n for n in nest.reduction if n is not vector]
    if not nest.spatial or not terms or nest.outer or nest.enclosing_loops:
        return None
    last, first = nest.spatial[-1], terms[0]
    moving = [a for a in nest.accesses[1:] if a.stride(first.var) != 0]
    for a in moving:
        run, leap = a.stride(last.var), a.stride(first.var)
        if (
            run is None
            or leap is None
            or not 0 < run < leap
            or run * a.tensor.dtype.bytes >= REDUCTION_COSTS.long_run_bytes
        ):
            return None
    sizes = [bytes_of(a.tensor) for a in moving]
    block = _block(constant_extent(last), 2 * builder.machine.cores)
    if sum(sizes) <= builder.l2_budget or block < 2 or constant_extent(first) < REDUCTION_COSTS.leaps:
        return None
    return builder.try_split(last, block, tail="exact")


def _block(extent: int, least: int) -> int:
    """Iterations of a block, of which there are so many at least: the largest divisor."""
    return max((n for n in range(1, extent // least + 1) if extent % n == 0), default=0)
