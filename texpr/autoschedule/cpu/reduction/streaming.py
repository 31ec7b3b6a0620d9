"""Reductions that read a large operand once: rows of memory are walked along, several at a time,
while the sums stay in a near cache.

A product of a matrix and a few vectors, sums of columns. Lanes lie along the rows of the operand;
strips of `streamed_rows` rows come from memory together, and each of their tiles is added to sums
that stay near. Rows that are used often are copied to panels, more of them together: as they are,
those whose distance is a multiple of a page would push each other out of the first cache. Sums of
columns have levels (`pairwise`), others keep their order.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NO_REDUCTION, UNKNOWN_EXTENTS, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.large_contraction import copies_panels, least_rows
from texpr.autoschedule.cpu.gemm.packed import in_pairs
from texpr.autoschedule.cpu.gemm.packing import pack
from texpr.autoschedule.cpu.reduction.pairwise import in_levels
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen


@frozen
class _Stream:
    """The parts of a sum that reads a large operand.

    Attributes:
        lane: the loop along a row of the operand.
        depth: the loop over its rows, the innermost one of the reduction.
        operand: the large read.
        shared: loops whose iterations use the same element of it.
    """

    nest: Nest
    lane: For
    depth: For
    operand: Access
    shared: tuple[For, ...]


class StreamingReduction:
    """Sums that read a large operand once or a few times: its rows are walked along."""

    name, stage = "StreamingReduction", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Stream | NoMatch:
        """The parts of the nest."""
        return _stream(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Stream) -> Scheduled:
        """The steps."""
        return Scheduled(_scheduled(builder, match))


def _stream(builder: ScheduleBuilder, nest: Nest) -> _Stream | NoMatch:
    if nest.main.update is None or not nest.reduction:
        return NO_REDUCTION
    if nest.recurrent or not builder.machine.vector_bytes:
        return NoMatch("a recurrence, or a machine without vectors")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    least = 4 * builder.vector_lanes(nest)
    lane = next(
        (
            n
            for n in nest.spatial
            if nest.accesses[0].stride(n.var) == 1 and not nest.cost(n) and constant_extent(n) >= least
        ),
        None,
    )
    if lane is None:
        return NoMatch("few elements side by side")
    depth = nest.reduction[-1]
    for a in nest.accesses[1:]:
        shared = tuple(n for n in nest.spatial if a.stride(n.var) == 0)
        in_rows = a.stride(lane.var) == 1 and (a.stride(depth.var) or 0) >= constant_extent(lane)
        if (
            in_rows
            and prod(map(constant_extent, shared)) <= _most_uses(builder, a)
            and builder.exceeds_l2(nest, a)
            and not _slides(nest, a, lane, depth)
        ):
            return _Stream(nest, lane, depth, a, shared)
    return NoMatch("no operand that is larger than the second cache is read a few times by rows")


def _most_uses(builder: ScheduleBuilder, a: Access) -> int:
    """Uses of an element, at most: for more, rows are copied to panels, of constants once."""
    if copies_panels(builder) or builder.is_constant(a.tensor):
        return least_rows(builder, a) - 1
    return REDUCTION_COSTS.streamed_uses


def _slides(nest: Nest, a: Access, lane: For, depth: For) -> bool:
    """True if rows are read again in other iterations, as those of a window are."""
    rows = constant_extent(depth) * (a.stride(depth.var) or 0)
    return any(0 < (a.stride(n.var) or 0) < rows for n in nest.spatial if n is not lane)


def _scheduled(builder: ScheduleBuilder, s: _Stream) -> list[LoopHandle]:
    size, width = constant_extent(s.lane), 2 * builder.vector_lanes(s.nest)
    busy = prod(map(constant_extent, s.shared)) >= REDUCTION_COSTS.packed_uses
    terms = [[n] for n in handles(s.nest.reduction)]
    levels = REDUCTION_COSTS.streamed_rows, REDUCTION_COSTS.chained_strips
    chained = None if s.shared else in_levels(builder, s.nest, terms, [], first=levels)
    tiles, lane = builder.split_if_longer(
        s.lane, width, "pad" if busy and -size % width <= size // GEMM_COSTS.filled_tiles else "peel"
    )
    strips = None
    if tiles is not None:
        strips, tiles = builder.split_if_longer(tiles, -(-_strip(builder, s) // width), "clip")
    if chained:
        *sums, depth = [loop for loops in chained for loop in loops]
        rows = None
    else:
        height = REDUCTION_COSTS.streamed_rows
        if busy:
            height = even(constant_extent(s.depth), _panel_depth(builder, s, width))
        rows, depth = builder.split_if_longer(s.depth, height)
        sums = [*handles(s.nest.reduction[:-1]), *filter(None, [rows])]
    tall = max(s.shared, key=constant_extent, default=None)
    around = handles(n for n in s.shared if n is not tall)
    inside: list[LoopHandle] = []
    if tall is not None:
        outer, inner = builder.split_if_longer(tall, 8 if builder.machine.vector_registers >= 32 else 4)
        around += [outer] if outer else []
        inside.append(inner)
    outside = handles(n for n in s.nest.spatial if n is not s.lane and n not in s.shared)
    outside += [strips] if strips else []
    order = [*outside, *sums, *filter(None, [tiles]), *around, depth, *inside, lane]
    if builder.try_apply("reorder", *order):
        if busy and rows:
            pack(builder, s.operand, rows, s.lane, width, s.nest.main.tensor.dtype)
            in_pairs(builder, depth)
        builder.try_apply("unroll", inside[0] if tall is not None and constant_extent(tall) > 1 else depth)
    builder.try_apply("vectorize", lane)
    return outside


def _panel_depth(builder: ScheduleBuilder, s: _Stream, width: int) -> int:
    """Rows of which the first cache holds a panel in one half."""
    return max(
        REDUCTION_COSTS.streamed_rows,
        builder.machine.caches[0] // 2 // (width * s.nest.main.tensor.dtype.bytes),
    )


def _strip(builder: ScheduleBuilder, s: _Stream) -> int:
    """Elements of a row that a thread walks along: a strip for each core, since short runs are
    over before hardware prefetches them.
    """
    return max(
        REDUCTION_COSTS.strip_bytes // s.operand.tensor.dtype.bytes,
        -(-constant_extent(s.lane) // builder.machine.cores),
    )
