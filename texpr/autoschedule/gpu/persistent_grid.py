"""Grids of blocks that walk over all tiles: as many as run at once, each with a share of the tiles
in turn.

Blocks that run at once have tiles beside each other, so that they read the same rows and columns of
the operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.support.frozen_dataclass import frozen

MOST_AXES = 3
"""Axes along which there are blocks: x, y and z."""


@frozen
class Way:
    """A loop over tiles.

    Attributes:
        count: of tiles.
        left, right: elements along which a tile moves in each operand; 0 where it does not.
    """

    count: int
    left: int
    right: int


def at_once(ways: Sequence[Way], most: int) -> tuple[int, ...] | None:
    """Numbers of tiles along each way that run at once, at most `most` in all; None if all fit, or
    no box of them is done about as soon as single tiles would be.

    Of the boxes that are, the one that reads the fewest rows of operands. Tiles fill it, but for
    the last ones along one way.
    """
    rounds = -(-prod(w.count for w in ways) // most)
    if rounds < 2:
        return None
    found = (
        box
        for box in _boxes(ways, most)
        if prod(-(-w.count // n) for w, n in zip(ways, box)) <= rounds + rounds // GPU_COSTS.grid_more_rounds
    )
    return min(found, key=lambda box: (_read(ways, box), box), default=None)


def rows_together(rows: int, columns: int, high: int, wide: int, most: int) -> int:
    """Of how many rows of tiles blocks that follow each other have one, before they go on to the
    next column, so that the `most` of them that run at once read few rows and columns of operands;
    1 where it is little less than row after row.

    Args:
        rows, columns: of tiles.
        high, wide: of a tile.
    """

    def read(group: int) -> int:
        across = min(columns, -(-most // group))
        return group * -(-most // (group * across)) * high + across * wide

    if rows * columns <= most:
        return 1
    best = min((g for g in range(1, min(rows, most) + 1) if rows % g == 0), key=read)
    return best if read(best) * GPU_COSTS.grid_rows_saved <= read(1) * (GPU_COSTS.grid_rows_saved - 1) else 1


def _boxes(ways: Sequence[Way], most: int) -> Iterator[tuple[int, ...]]:
    if not ways:
        yield ()
        return
    first, *rest = ways
    for rounds in sorted({-(-first.count // n) for n in range(1, first.count + 1)}):
        n = -(-first.count // rounds)
        if n <= most:
            yield from (
                (n, *others)
                for others in _boxes(rest, most // n)
                if _few_axes((n, *others)) and _even(ways, (n, *others))
            )


def _few_axes(box: Sequence[int]) -> bool:
    return sum(n > 1 for n in box) <= MOST_AXES


def _even(ways: Sequence[Way], box: Sequence[int]) -> bool:
    """Iterations of nested loops are counted where all but the first have a number of iterations
    that is the same in all blocks.
    """
    return sum(w.count % n > 0 for w, n in zip(ways, box)) <= 1


def _read(ways: Sequence[Way], box: Sequence[int]) -> int:
    """Rows and columns of operands that the tiles of a box read."""
    sides = ([(n, w.left) for w, n in zip(ways, box)], [(n, w.right) for w, n in zip(ways, box)])
    return sum(prod(n * along for n, along in side if along) for side in sides)


def order_of_rounds(ways: Sequence[Way], box: Sequence[int]) -> list[int]:
    """The ways that take several rounds, outermost first: what fills no box, then what changes
    the most rows of operands.
    """
    several = [k for k, (w, n) in enumerate(zip(ways, box)) if w.count > n]
    return sorted(
        several, key=lambda k: (ways[k].count % box[k] == 0, -box[k] * (ways[k].left + ways[k].right), k)
    )
