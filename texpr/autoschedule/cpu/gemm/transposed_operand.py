"""Contractions whose operands both lie along the sum (A B^T), inside of loops that stay: one operand is turned into panels first.

Lanes go across rows of that operand; it is copied once for the loops that it does not move with, squares of it transposed in registers, so
that a tile of sums stays in registers and nothing is gathered. Sums keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.cpu.gemm.packed import LEAST_ROWS, tile_of
from texpr.autoschedule.cpu.gemm.packing import pack
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import find_loops, qualified, stores


@dataclass(frozen=True, slots=True)
class Turning:
    """A copy in panels that is still to be made: it stands in loops that nests share once they are joined.

    Attributes:
        equation: that of the contraction.
        depth: how many of the outer loops are around it.
        own: the outermost loop of the contraction alone, nothing if it has none.
    """

    equation: int
    panel: Access
    lane: For
    width: int
    depth: int
    own: str

    def make(self, builder: ScheduleBuilder, outer: list[str], turned: set[int]) -> None:
        """Make it, in the named loops; in a loop of its own where another nest in these reads the operand as it lies.

        Args:
            turned: the equations that read turned copies.
        """
        around = outer[self.depth - 1]
        inside = {s.equation for loop in find_loops(builder.kernel, around) for s in stores(loop) if _reads(s, self.panel.tensor)}
        pack(builder, self.panel, self.own if self.own and inside - turned else around, self.lane, self.width)


def _reads(s: Store, tensor: Tensor) -> bool:
    return any(isinstance(n, Read) and n.tensor.name == tensor.name for n in walk(s.value))


def crossing(builder: ScheduleBuilder, nest: Nest) -> tuple[list[str], Turning] | None:
    """Schedule a contraction that reads both operands along the sum; names of its outer loops, or None if it is none."""
    lanes = builder.vector_lanes(nest)
    if not nest.outer or nest.recurrent or nest.main.update is None or not builder.machine.vector_bytes:
        return None
    lane = next((n for n in nest.spatial if nest.accesses[0].stride(n.var) == 1 and constant_extent(n) >= 2 * lanes), None)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1 or moving[0].stride(lane.var) == 1:
        return None
    panel = moving[0]
    rows = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0 and constant_extent(n) >= LEAST_ROWS]
    if not rows or not any(panel.stride(n.var) == 1 for n in nest.reduction):
        return None
    width, height = tile_of(builder, constant_extent(lane), lanes)
    depth = max((k for k, n in enumerate(nest.outer, 1) if panel.stride(n.var) != 0), default=1)
    lane_tiles, inner = builder.split_if_longer(qualified(lane), width)
    row_tiles, row = builder.split_if_longer(qualified(rows[-1]), height)
    others = [qualified(n) for n in nest.spatial if n is not lane and n is not rows[-1]]
    tiles = [name for name in (lane_tiles, row_tiles) if name]
    if builder.try_apply("reorder", *others, *tiles, *(qualified(n) for n in nest.reduction), row, inner):
        builder.try_apply("unroll", row)
    builder.try_apply("vectorize", inner)
    return others + tiles, Turning(nest.main.equation, panel, lane, width, depth, next(iter(others + tiles), ""))
