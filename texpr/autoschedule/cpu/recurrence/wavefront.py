"""Recurrences that run along rows of memory: several rows run together, so that their chains of
operations overlap.

An element that takes its neighbour's new value costs the time from one sum to the next, however
wide the machine is. Rows that do not wait for one another run side by side. Where every loop waits
for the iteration before, each row follows the one above it at a distance. Every value stays the
same.

Source: Lamport, The Parallel Execution of DO Loops, CACM 1974.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.recurrence.recurrence_costs import RECURRENCE_COSTS
from texpr.ir.loop import For
from texpr.support.frozen_dataclass import frozen

NO_RECURRENCE = NoMatch("no recurrence along two loops")


@frozen
class _Rows:
    """A recurrence along rows: the loops that have several iterations, the last two over rows
    and along them.
    """

    nest: Nest
    loops: list[For]


class Wavefront:
    """Recurrences no loop of which can have lanes: each row follows the one above it at a
    distance.
    """

    name, stage = "Wavefront", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Rows | NoMatch:
        """The rows of the nest."""
        loops = _loops(nest)
        if not nest.recurrent or nest.reduction or len(loops) < 2:
            return NO_RECURRENCE
        row, inner = loops[-2:]
        if (
            constant_extent(row) < 2 * RECURRENCE_COSTS.wavefront_rows
            or constant_extent(inner) < RECURRENCE_COSTS.wavefront_iterations
        ):
            return NoMatch("few rows, or short ones")
        if any(_has_lanes(builder, n) for n in loops):
            return NoMatch("iterations of a loop do not wait for each other")
        return _Rows(nest, loops)

    def apply(self, builder: ScheduleBuilder, match: _Rows) -> Scheduled | None:
        """The steps; no loop is left to share among threads."""
        return Scheduled([]) if _skewed(builder, *match.loops[-2:]) else None


def _skewed(builder: ScheduleBuilder, row: For, inner: For) -> bool:
    """Let rows follow each other as closely as they may; whether that was possible."""
    for behind in range(1, RECURRENCE_COSTS.wavefront_distance + 1):
        before = builder.checkpoint()
        cut = builder.try_split(row, RECURRENCE_COSTS.wavefront_rows)
        if (
            cut is not None
            and builder.try_apply("skew", inner, cut[1], behind)
            and builder.try_apply("reorder", inner, cut[1])
            and _has_lanes(builder, cut[1])
        ):  # else rows would wait for each other in one iteration, and not overlap
            builder.try_apply("unroll", cut[1])
            return True
        builder.rollback(before)
    return False


class RowsSideBySide:
    """Recurrences along rows of memory that do not wait for each other, which lanes would
    gather.
    """

    name, stage = "RowsSideBySide", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Rows | NoMatch:
        """The rows of the nest."""
        loops = _loops(nest)
        if not nest.recurrent or nest.reduction or len(loops) < 2:
            return NO_RECURRENCE
        row, inner = loops[-2:]
        if constant_extent(row) < 2 * RECURRENCE_COSTS.chains or nest.cost(inner) > nest.cost(row):
            return NoMatch("few rows, or rows that lie across memory")
        if _has_lanes(builder, inner) or not _has_lanes(builder, row):
            return NoMatch("elements of a row do not wait for each other, or rows do")
        return _Rows(nest, loops)

    def apply(self, builder: ScheduleBuilder, match: _Rows) -> Scheduled | NoMatch:
        """The steps."""
        row, inner = match.loops[-2:]
        first, last = boundary_iterations(match.nest, inner)
        if (
            first + last and extent(inner) >= RECURRENCE_COSTS.wavefront_iterations
        ):  # edges in loops of their own
            builder.try_apply("peel", inner, first, last)
        outer, near = builder.split_if_longer(row, RECURRENCE_COSTS.chains, "guard")
        if outer is None:
            return NoMatch("few rows")
        builder.apply("reorder", inner, near)
        builder.apply("unroll", near)
        return Scheduled([*handles(match.loops[:-2]), outer])


def _loops(nest: Nest) -> list[For]:
    """The loops over elements that have several iterations, or a number that only the call
    knows.
    """
    return [n for n in nest.spatial if constant_extent(n) != 1]


def _has_lanes(builder: ScheduleBuilder, loop: For | LoopHandle) -> bool:
    """True if iterations of the loop could run in lock step."""
    return builder.can_apply("vectorize", loop, 2)
