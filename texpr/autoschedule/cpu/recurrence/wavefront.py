"""Recurrences that run along rows of memory: several rows run together, so that their chains of operations overlap.

An element that takes its neighbour's new value costs the time from one sum to the next, however wide the machine is. Rows that do not wait
for one another run side by side. Where every loop waits for the iteration before, each row follows the one above it at a distance. Every
value stays the same.

Source: Lamport, The Parallel Execution of DO Loops, CACM 1974.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent, edges, extent
from texpr.ir.loop import For
from texpr.schedule.structure.loops import qualified

CHAINS = 4
"""Rows side by side: as many chains as keep a divider busy, or sums nearly so."""
ROWS = 8
LEAST = 64
"""Iterations of the inner loop for which the start and the end, where few rows run, do not matter."""
FARTHEST = 2
"""By how many iterations a row may be behind the one above it."""


def wavefront(builder: ScheduleBuilder, nest: Nest) -> list[str] | None:
    """Schedule a recurrence no loop of which can have lanes; names of loops to share, of which there are none, or None if it is none."""
    loops = _loops(nest)
    if not nest.recurrent or nest.reduction or len(loops) < 2:
        return None
    row, inner = loops[-2:]
    if constant_extent(row) < 2 * ROWS or constant_extent(inner) < LEAST:
        return None
    if any(_has_lanes(builder, qualified(n)) for n in loops):
        return None
    for behind in range(1, FARTHEST + 1):
        before = builder.checkpoint()
        cut = builder.split(qualified(row), ROWS)
        near = cut[1] if cut is not None else ""
        moved = (cut is not None and builder.try_apply("skew", qualified(inner), near, behind)
                 and builder.try_apply("reorder", qualified(inner), near))
        if moved and _has_lanes(builder, near):  # rows that wait for each other in one iteration would not overlap
            builder.try_apply("unroll", near)
            return []
        builder.rollback(before)
    return None


def side_by_side(builder: ScheduleBuilder, nest: Nest) -> list[str] | None:
    """Schedule a recurrence along rows of memory that do not wait for each other, which lanes would gather; names of its outer loops, or
    None if it is none."""
    loops = _loops(nest)
    if not nest.recurrent or nest.reduction or len(loops) < 2:
        return None
    row, inner = loops[-2:]
    if constant_extent(row) < 2 * CHAINS or nest.cost(inner) > nest.cost(row):
        return None
    if _has_lanes(builder, qualified(inner)) or not _has_lanes(builder, qualified(row)):
        return None

    def steps() -> list[str] | None:
        first, last = edges(nest, inner)
        if first + last and extent(inner) >= LEAST:  # what runs at the edges has a loop of its own, so that others need not ask
            builder.try_apply("peel", qualified(inner), first, last)
        outer, near = builder.split_if_longer(qualified(row), CHAINS, "guard")
        if not outer or not builder.try_apply("reorder", qualified(inner), near) or not builder.try_apply("unroll", near):
            return None
        return [*(qualified(n) for n in loops[:-2]), outer]

    return builder.transaction(steps)


def _loops(nest: Nest) -> list[For]:
    """The loops over elements that have several iterations, or a number that only the call knows."""
    return [n for n in nest.spatial if constant_extent(n) != 1]


def _has_lanes(builder: ScheduleBuilder, name: str) -> bool:
    """Whether iterations of the loop could run in lock step."""
    return builder.can_apply("vectorize", name, 2)
