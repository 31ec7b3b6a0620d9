"""Contractions: sums of products of two reads, each of which moves with a loop over the target that
the other one does not.
"""

from __future__ import annotations

from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.template import NO_REDUCTION, NOT_A_PRODUCT, NoMatch
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.shared_memory import is_product
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen

TALL = 16
"""Rows of an instruction's tile, for a warp (PTX ISA, `mma`)."""


@frozen
class Contraction:
    """The parts of a contraction: loops over rows, columns and terms; the reads that move with rows
    and with columns; loops around.

    Attributes:
        upper: another loop that only the left read moves with, along which tiles have rows too
            where `row` alone would not fill them.
    """

    nest: Nest
    row: For
    upper: For | None
    column: For
    term: For
    left: Access
    right: Access

    @property
    def rows(self) -> list[For]:
        """Loops over the target that only the left read moves with."""
        others = (n for n in self.nest.spatial if n is not self.column)
        return [n for n in others if self.left.stride(n.var) != 0 and self.right.stride(n.var) == 0]

    @property
    def outer(self) -> list[For]:
        """Loops over the target that both reads move with, or neither."""
        return [
            n
            for n in self.nest.spatial
            if all(n is not other for other in (self.row, self.upper, self.column))
        ]


def no_product(nest: Nest) -> NoMatch | None:
    """The reason why a nest is no sum of products of two reads, by itself; None if it is one."""
    if not nest.reduction:
        return NO_REDUCTION
    apart = nest.recurrent or nest.enclosing_loops or nest.outer
    if apart or nest.main.update != "add" or len(nest.accesses) != 3 or not is_product(nest.main.value):
        return NOT_A_PRODUCT
    return None


def contraction(nest: Nest) -> Contraction | NoMatch:
    """A nest as a contraction, if it is one and tiles pay."""
    if (wrong := no_product(nest)) is not None:
        return wrong
    term, column = nest.reduction[-1], nest.contiguous()
    right = next((a for a in nest.accesses[1:] if column is not None and a.stride(column.var) != 0), None)
    if column is None or right is None:
        return NoMatch("no operand moves along the columns")
    left = next(a for a in nest.accesses[1:] if a is not right)
    rows = [
        n for n in nest.spatial if n is not column and left.stride(n.var) != 0 and right.stride(n.var) == 0
    ]
    row = max(rows, key=lambda n: (filling(n, 2 * GPU_COSTS.tile_side), extent(n)), default=None)
    if row is None or left.stride(column.var) != 0 or 0 in (left.stride(term.var), right.stride(term.var)):
        return NoMatch("no operand for the rows alone, or one that terms do not move")
    if extent(column) < GPU_COSTS.tile_side or extent(term) < GPU_COSTS.tile_side // 2:
        return NoMatch("few columns or terms")
    pairs = [(a, b) for a in rows for b in rows if a is not b]
    best = max(pairs, key=lambda pair: filling(pair[0], TALL) * filling(pair[1], 4), default=None)
    if best is not None and filling(best[0], TALL) * filling(best[1], 4) > filling(
        row, 2 * GPU_COSTS.tile_side
    ):
        return Contraction(nest, *best, column, term, left, right)
    return (
        Contraction(nest, row, None, column, term, left, right)
        if extent(row) >= GPU_COSTS.tile_side
        else NoMatch("few rows")
    )


def filling(loop: For, tile: int) -> float:
    """The share of tiles along a loop that is no filling."""
    return extent(loop) / (max(1, -(-extent(loop) // tile)) * tile)
