"""What becomes of the sums of a warp's tiles, each in the lane that holds it after a product on
tensor cores.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.autoschedule.core.builder import ScheduleBuilder


def in_lanes(builder: ScheduleBuilder, around: list[str], row: str, column: str) -> str:
    """Share out the elements of tiles of 8 or 16 rows and 8 columns as
    `targets.gpu.warp_instructions` has it: of every 8 rows a pair of neighbours.

    Args:
        around: loops over the tiles of a warp, which the caller unrolls.
    Returns:
        the loop over a lane's pairs, which is the innermost one; empty if there is no such order.
    """
    return _shared_out(builder, row, column, lambda inner, lane, pair: [*around, *inner, *lane, pair])


def whole_lanes(builder: ScheduleBuilder, around: list[str], row: str, column: str) -> str:
    """As `in_lanes`, each lane with all of its elements at once: no statement of another lane
    stands between them.
    """
    return _shared_out(builder, row, column, lambda inner, lane, pair: [*lane, *around, *inner, pair])


def _shared_out(
    builder: ScheduleBuilder, row: str, column: str, ordered: Callable[[list[str], list[str], str], list[str]]
) -> str:
    """The loop over a lane's pairs, where there is the order of the halves of a tile, of a
    half's rows and columns, and of pairs.
    """
    halves, eighth = builder.split_if_longer(row, 8, "exact")
    fours, pair = builder.split(column, 2, tail="exact") or ("", "")
    inner = [halves] if halves else []
    if (
        not pair
        or not builder.try_apply("reorder", *ordered(inner, [eighth, fours], pair))
        or not builder.try_apply("fuse", eighth, fours, name="lane")
    ):
        return ""
    done = builder.try_apply("bind", f"{row.rpartition('.')[0]}.lane", "thread.x") and all(
        builder.try_apply("unroll", name) for name in inner
    )
    return pair if done else ""
