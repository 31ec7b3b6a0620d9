"""Epilogues on accumulator fragments of a warp's tiles, each in the lane that holds it after a
product on tensor cores.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle


def in_lanes(
    builder: ScheduleBuilder, around: list[LoopHandle], row: LoopHandle, column: LoopHandle
) -> LoopHandle:
    """Share out the elements of tiles of 8 or 16 rows and 8 columns as
    `targets.gpu.warp_instructions` has it: of every 8 rows a pair of neighbours.

    Args:
        around: loops over the tiles of a warp, which the caller unrolls.
    Returns:
        the loop over a lane's pairs, which is the innermost one.
    Raises:
        Refused: there is no such order.
    """
    return _shared_out(builder, row, column, lambda inner, lane, pair: [*around, *inner, *lane, pair])


def whole_lanes(
    builder: ScheduleBuilder, around: list[LoopHandle], row: LoopHandle, column: LoopHandle
) -> LoopHandle:
    """As `in_lanes`, each lane with all of its elements at once: no statement of another lane
    stands between them.
    """
    return _shared_out(builder, row, column, lambda inner, lane, pair: [*lane, *around, *inner, pair])


_Order = Callable[[list[LoopHandle], list[LoopHandle], LoopHandle], list[LoopHandle]]
"""The order of the halves of a tile, of a half's rows and columns, and of pairs."""


def _shared_out(builder: ScheduleBuilder, row: LoopHandle, column: LoopHandle, order: _Order) -> LoopHandle:
    """The loop over a lane's pairs, where the loops have such an order."""
    halves, eighth = builder.split_if_longer(row, 8, "exact")
    fours, pair = builder.split(column, 2, tail="exact")
    inner = [] if halves is None else [halves]
    builder.apply("reorder", *order(inner, [eighth, fours], pair))
    builder.apply("bind", builder.fuse(eighth, fours, "lane"), "thread.x")
    for loop in inner:
        builder.apply("unroll", loop)
    return pair
