"""Contractions whose operands both lie along the sum (A B^T), inside of loops that stay: one
operand is turned into panels first.

Lanes go across rows of that operand; it is copied once for the loops that it does not move with,
squares of it transposed in registers, so that a tile of sums stays in registers and nothing is
gathered. Sums keep their order.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import pack
from texpr.autoschedule.cpu.gemm.tile_shapes import tile_of
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import stores
from texpr.support.frozen_dataclass import frozen


@frozen
class Turning:
    """A copy in panels that is still to be made: it stands in loops that nests share once they are
    joined.

    Attributes:
        equation: that of the contraction.
        depth: how many of the outer loops are around it.
        own: the outermost loop of the contraction alone, if it has one.
    """

    equation: int
    panel: Access
    lane: For
    width: int
    depth: int
    own: LoopHandle | None

    def make(self, builder: ScheduleBuilder, outer: list[LoopHandle], turned: set[int]) -> None:
        """Make it, in these loops; in a loop of its own where another nest in these reads the
        operand as it lies.

        Args:
            turned: the equations that read turned copies.
        """
        around = outer[self.depth - 1]
        inside = {
            s.equation for loop in builder.loops(around) for s in stores(loop) if _reads(s, self.panel.tensor)
        }
        at = self.own if self.own is not None and inside - turned else around
        pack(builder, self.panel, at, self.lane, self.width)


def _reads(s: Store, tensor: Tensor) -> bool:
    return any(isinstance(n, Read) and n.tensor.name == tensor.name for n in walk(s.value))


@frozen
class _Product:
    """The parts of such a contraction.

    Attributes:
        lane, row: loops along the rows of the operand that is turned, and along those of the other
        one.
        panel: the read that is turned.
    """

    nest: Nest
    lane: For
    row: For
    panel: Access


class TransposedOperand:
    """Contractions in loops of others that read both operands along the sum (A B^T)."""

    name, stage = "TransposedOperand", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Product | NoMatch:
        """The parts of the nest."""
        return _product(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Product) -> Scheduled:
        """The steps, and the copy of the operand, which comes once nests share loops."""
        return _scheduled(builder, match)


def _product(builder: ScheduleBuilder, nest: Nest) -> _Product | NoMatch:
    if not nest.outer:
        return NoMatch("no loops in common with other nests")
    lanes = builder.vector_lanes(nest)
    if nest.recurrent or nest.main.update is None or not builder.machine.vector_bytes:
        return NoMatch("no sum, or a machine without vectors")
    lane = nest.contiguous(2 * lanes)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1 or moving[0].stride(lane.var) == 1:
        return NoMatch("no operand that lies along the sum moves with vectors of elements")
    panel = moving[0]
    rows = [
        n
        for n in nest.spatial
        if n is not lane and panel.stride(n.var) == 0 and constant_extent(n) >= GEMM_COSTS.packing_rows
    ]
    if not rows or not any(panel.stride(n.var) == 1 for n in nest.reduction):
        return NoMatch("few rows share the operand, or terms do not lie side by side")
    return _Product(nest, lane, rows[-1], panel)


def _scheduled(builder: ScheduleBuilder, p: _Product) -> Scheduled:
    nest, lane, panel, lanes = p.nest, p.lane, p.panel, builder.vector_lanes(p.nest)
    width, height = tile_of(builder, constant_extent(lane), lanes)
    depth = max((k for k, n in enumerate(nest.outer, 1) if panel.stride(n.var) != 0), default=1)
    lane_tiles, inner = builder.split_if_longer(lane, width)
    row_tiles, row = builder.split_if_longer(p.row, height)
    outer = handles(n for n in nest.spatial if n is not lane and n is not p.row)
    outer += filter(None, (lane_tiles, row_tiles))
    if builder.try_apply("reorder", *outer, *nest.reduction, row, inner):
        builder.try_apply("unroll", row)
    builder.try_apply("vectorize", inner)
    own = next(iter(outer), None)
    return Scheduled(outer, Turning(nest.main.equation, panel, lane, width, depth, own))
