"""Contractions whose operands both lie along the sum (A B^T), inside of loops that stay: one operand is turned into panels first.

Lanes go across rows of that operand; it is copied once for the loops that it does not move with, squares of it transposed in registers, so
that a tile of sums stays in registers and nothing is gathered. Sums keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.ir.loop import For
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Access, Nest, constant_extent
from texpr.schedule.panels import LEAST_ROWS, pack, tile_of
from texpr.schedule.plan import Plan


@dataclass(frozen=True, slots=True)
class Turning:
    """A copy in panels that is still to be made: it stands in loops that nests share once they are joined.

    Attributes:
        depth: how many of the outer loops are around it.
    """

    panel: Access
    lane: For
    width: int
    depth: int

    def make(self, plan: Plan, outer: list[str]) -> None:
        """Make it, in the named loops."""
        pack(plan, self.panel, outer[self.depth - 1], self.lane, self.width)


def crossing(plan: Plan, nest: Nest) -> tuple[list[str], Turning] | None:
    """Schedule a contraction that reads both operands along the sum; names of its outer loops, or None if it is none."""
    lanes = plan.lanes(nest)
    if not nest.outer or nest.recurrent or nest.main.update is None or not plan.machine.vector_bytes:
        return None
    lane = next((n for n in nest.spatial if nest.accesses[0].stride(n.var) == 1 and constant_extent(n) >= 2 * lanes), None)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1 or moving[0].stride(lane.var) == 1:
        return None
    panel = moving[0]
    rows = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0 and constant_extent(n) >= LEAST_ROWS]
    if not rows or not any(panel.stride(n.var) == 1 for n in nest.reduction):
        return None
    width, height = tile_of(plan, constant_extent(lane), lanes)
    depth = max((k for k, n in enumerate(nest.outer, 1) if panel.stride(n.var) != 0), default=1)
    lane_tiles, inner = plan.cut(qualified(lane), width)
    row_tiles, row = plan.cut(qualified(rows[-1]), height)
    others = [qualified(n) for n in nest.spatial if n is not lane and n is not rows[-1]]
    tiles = [name for name in (lane_tiles, row_tiles) if name]
    if plan.step("reorder", *others, *tiles, *(qualified(n) for n in nest.reduction), row, inner):
        plan.step("unroll", row)
    plan.step("vectorize", inner)
    return others + tiles, Turning(panel, lane, width, depth)
