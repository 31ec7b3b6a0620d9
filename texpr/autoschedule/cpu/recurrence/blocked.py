"""Sums over earlier elements of a recurrence, as in elimination: `F[i, j] = A[i, j] - sum(k in
0..j: F[i, k] * F[k, j])`.

An element waits for the one before it, so nothing runs in lanes, and sums walk down columns of
memory. But what a tile of elements needs of those before the tile is there when the tile begins:
these terms are added for all of the tile at once, along rows of memory, and only the terms from
within the tile are added one element after the other. Every sum keeps its order. Where sums have a
term or two more than there are elements before theirs, as in `P[i, j] = max(k in i..j: P[i, k] +
P[k+1, j])`, these come first.

Source: Dongarra, Duff, Sorensen and van der Vorst, Solving Linear Systems on Vector and Shared
Memory Computers, SIAM 1991.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.template import NO_REDUCTION, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.recurrence.recurrence_costs import RECURRENCE_COSTS
from texpr.ir.affine import linear
from texpr.ir.build import sub
from texpr.ir.loop import For
from texpr.passes.analysis.iteration_ranges import largest
from texpr.schedule.structure.loops import free_name
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class _Sums:
    """Sums over earlier elements.

    Attributes:
        width: elements of a tile.
        more: terms beside one for each earlier element.
    """

    nest: Nest
    width: int
    more: int


class BlockedRecurrence:
    """Sums over earlier elements of a recurrence, tile by tile, as in elimination (LU,
    Cholesky).
    """

    name, stage = "BlockedRecurrence", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Sums | NoMatch:
        """The parts of the nest."""
        return _sums(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Sums) -> Scheduled:
        """The steps."""
        return Scheduled(_scheduled(builder, match.nest, match.width, match.more))


def _sums(builder: ScheduleBuilder, nest: Nest) -> _Sums | NoMatch:
    if not nest.reduction:
        return NO_REDUCTION
    if not builder.machine.vector_bytes or not nest.spatial or len(nest.reduction) != 1 or nest.main.indices:
        return NoMatch("no sum over one loop that is complete before its element is stored")
    width = RECURRENCE_COSTS.block_registers * builder.vector_lanes(nest)
    lane, term = nest.spatial[-1], nest.reduction[0]
    more = linear(sub(term.extent, lane.var))
    if more.terms or not 0 <= more.constant <= RECURRENCE_COSTS.peeled_terms:
        return NoMatch("terms are not the elements before")
    if _longest(nest, lane) < RECURRENCE_COSTS.block_tiles * width or not _walks_across(nest, lane, term):
        return NoMatch("few elements, or terms lie side by side")
    return _Sums(nest, width, more.constant)


def _longest(nest: Nest, loop: For) -> int:
    """Iterations of a loop where it has most of them."""
    most = largest(
        loop.extent, {n.var: n.extent for n in (*nest.enclosing_loops, *nest.outer, *nest.spatial[:-1])}
    )
    return extent(loop if most is None else replace(loop, extent=most))


def _walks_across(nest: Nest, lane: For, term: For) -> bool:
    """True if lanes would read neighbours where terms do not."""
    steps = [(a.stride(lane.var), a.stride(term.var)) for a in nest.accesses[1:]]
    return all(across in (0, 1) for across, _ in steps) and any(
        across == 1 and along not in (0, 1) for across, along in steps
    )


def _scheduled(builder: ScheduleBuilder, nest: Nest, width: int, more: int) -> list[LoopHandle]:
    lane, term = nest.spatial[-1], nest.reduction[0]
    if more:
        builder.apply("peel", term, more, 0)
    tiles, inner = builder.split(lane, width)
    builder.apply("expand_dim", nest.main.tensor, inner)
    blocks, within = builder.split(term, width, tail="peel")
    rest = free_name(builder.kernel, lane.tensor, f"{lane.var.name}r")
    builder.apply("fission", inner, blocks, name=rest)
    builder.apply("reorder", blocks, within, inner)
    builder.apply("vectorize", inner)
    return [*handles(nest.spatial[:-1]), tiles]
