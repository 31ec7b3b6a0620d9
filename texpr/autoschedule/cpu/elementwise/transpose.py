"""Nests that write along one loop and read along another: squares of registers are transposed
between the two.

A square is read row by row, transposed in registers and used row by row, so that both sides touch
whole lines of memory, once. Squares that lie beside each other where they are read come together.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handles
from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.elementwise.elementwise_costs import ELEMENTWISE_COSTS
from texpr.ir.instructions import transpose
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen

SQUARES = (16, 8)
"""Rows of squares of elements of which a register holds more: those that instructions transpose
(`ir.instructions`)."""


@frozen
class _Turn:
    """The parts of a nest that reads across what it writes.

    Attributes:
        lane: the loop along which the target lies.
        row: the loop along which what is turned lies.
        turned: the reads that lie along `row`.
        side: rows of a square.
    """

    nest: Nest
    lane: For
    row: For
    turned: tuple[Access, ...]
    side: int


class RegisterTranspose:
    """Nests that write along one loop and read along another: squares are transposed in
    registers.
    """

    name, stage = "RegisterTranspose", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Turn | NoMatch:
        """The parts of the nest."""
        return _turn(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Turn) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _turn(builder: ScheduleBuilder, nest: Nest) -> _Turn | NoMatch:
    if nest.recurrent or nest.reduction:
        return NoMatch("a sum or a recurrence")
    lanes, wide = builder.vector_lanes(nest), nest.main.tensor.dtype.bytes >= 4
    least = lanes if wide else min(lanes, *SQUARES)
    lane = nest.contiguous(least)
    if lane is None:
        return NoMatch("few elements side by side")
    across = [a for a in nest.accesses[1:] if a.stride(lane.var) not in (0, 1)]
    if not across:
        return NoMatch("nothing is read across")
    row = next(
        (
            n
            for n in nest.spatial
            if n is not lane and constant_extent(n) >= least and all(a.stride(n.var) == 1 for a in across)
        ),
        None,
    )
    if row is None or len({a.tensor for a in across}) < len(across):
        return NoMatch("no loop along which all that is read across lies")
    most = min(lanes, constant_extent(lane), constant_extent(row))
    known = [
        n
        for n in (lanes, *SQUARES)
        if n <= most and all(transpose(a.tensor.dtype, n) in builder.machine.instructions for a in across)
    ]
    # Of narrow elements a register holds more than there are registers for rows, half of which are
    # shuffled into the other half.
    side = next((n for n in known if 2 * n <= builder.machine.vector_registers), min(known, default=0))
    if not side or (wide and side != lanes):
        return NoMatch("no instructions transpose squares of these elements")
    return _Turn(nest, lane, row, tuple(across), side)


def _scheduled(builder: ScheduleBuilder, t: _Turn) -> Scheduled | NoMatch:
    rows, row = builder.split_if_longer(t.row, t.side)
    lines, lane = builder.split_if_longer(t.lane, t.side)
    blocks, rows = (
        builder.split_if_longer(rows, _squares_of_block(builder, t), "clip") if rows else (None, None)
    )
    outer = handles(n for n in t.nest.spatial if n is not t.lane and n is not t.row)
    outer += [blocks] if blocks else []
    squares = [loop for loop in (lines, rows) if loop is not None]
    if not outer and not squares:
        return NoMatch("a single square")
    builder.apply("reorder", *outer, *squares, row, lane)
    if not all(_turned(builder, t, a, (outer + squares)[-1], t.side) for a in t.turned):
        return NoMatch("an operand that is read across has no dimension for each loop")
    builder.try_apply("unroll", row)
    builder.try_apply("vectorize", lane)
    return Scheduled(outer)


def _squares_of_block(builder: ScheduleBuilder, t: _Turn) -> int:
    """Squares of a row that come together: half a page, less where cores would have no blocks."""
    squares = -(-constant_extent(t.row) // t.side)
    size = t.side * t.nest.main.tensor.dtype.bytes
    blocks = ELEMENTWISE_COSTS.transpose_blocks * builder.machine.cores
    return max(1, min(ELEMENTWISE_COSTS.transpose_row_bytes // size, squares // blocks))


def _turned(builder: ScheduleBuilder, t: _Turn, access: Access, at: LoopHandle, lanes: int) -> bool:
    """Copy a square to a buffer in which it lies along the lanes; True if the loops have a
    dimension each.
    """
    places = [[d for d, i in enumerate(access.indices) if n.var in variables(i)] for n in (t.lane, t.row)]
    if any(len(found) != 1 for found in places):
        return False
    buffer = builder.new_buffer("cache_read", access.tensor, at)
    (lane,), (row,) = places
    builder.apply("layout", buffer, layout_with_last_dim(buffer, lane))
    builder.apply("reorder", copy_loop(buffer, row), copy_loop(buffer, lane))
    builder.apply("tensorize", copy_loop(buffer, row), transpose(buffer.dtype, lanes))
    return True
