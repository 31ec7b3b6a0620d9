"""Reductions over a window that slides over each plane of a field for itself: a convolution of every
channel with weights of its own, pooling.

Lanes are neighbours in memory. A tile is two rows of one or two vectors, or one row where few
registers hold weights too and lanes lie two elements apart; its sums stay in registers. The terms
of a small window are all written out, so that the loop inside is the one over tiles and the weights
stay in registers as well; of a larger one those along a row are. Rows whose windows reach past an
edge have loops of their own, and so have the first and the last tile of a row: what lies between
needs no conditions. Sums keep their order. Where registers have any length, tiles are those of
`cpu.scalable_vectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, window_loops
from texpr.autoschedule.core.template import NO_REDUCTION, UNKNOWN_EXTENTS, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.ir.build import integer
from texpr.ir.expr import Mul
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen


@frozen
class WindowParts:
    """The loop whose iterations are lanes, that over rows, and that over the terms along a row
    of the window; the read of the planes.
    """

    nest: Nest
    lane: For
    row: For
    term: For
    field: Access

    @property
    def step(self) -> int:
        """Distance of lanes in the planes."""
        return self.field.stride(self.lane.var) or 0


class DepthwiseWindow:
    """Reductions over a window that slides over each plane for itself."""

    name, stage = "DepthwiseWindow", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> WindowParts | NoMatch:
        """The parts of the nest."""
        return window_parts(builder, nest, builder.vector_lanes(nest))

    def apply(self, builder: ScheduleBuilder, match: WindowParts) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match.nest, match)


def window_parts(builder: ScheduleBuilder, nest: Nest, least: int) -> WindowParts | NoMatch:
    """The parts of a nest whose rows have `least` elements at least."""
    if not nest.reduction:
        return NO_REDUCTION
    if nest.recurrent or not (_is_product(nest) or len(nest.accesses) == 2):
        return NoMatch("no sum of products of two reads, nor a reduction of one, by itself")
    if not builder.machine.vector_bytes or builder.machine.scalable_bytes:
        return NoMatch("a machine without vectors of one length")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    _, first, *second = nest.accesses
    found = [_of(nest, first, second, least), *(_of(nest, other, [first], least) for other in second)]
    return next(filter(None, found), NoMatch("no small window slides over planes"))


def _is_product(nest: Nest) -> bool:
    return nest.main.update == "add" and isinstance(nest.main.value, Mul) and len(nest.accesses) == 3


def _of(nest: Nest, field: Access, weights: Sequence[Access], least: int) -> WindowParts | None:
    """The parts, if the reads play these: neighbours in the field are at most two elements
    apart, all terms lie within the window; a group of one channel is no term.

    Args:
        weights: none where elements of the field are reduced as they are.
    """
    slides = [
        n
        for n in nest.spatial
        if all(a.stride(n.var) == 0 for a in weights) and window_loops(nest, field, [n])
    ]
    lane = next(
        (n for n in slides if nest.accesses[0].stride(n.var) == 1 and constant_extent(n) >= least), None
    )
    row = next((n for n in reversed(slides) if n is not lane), None)
    if lane is None or row is None or field.stride(lane.var) not in (1, 2):
        return None
    terms = window_loops(nest, field, [lane])
    if (
        len(terms) != 1
        or terms[0] is not nest.reduction[-1]
        or not 1 < constant_extent(terms[0]) <= CONVOLUTION_COSTS.unrolled_row_terms
    ):
        return None
    within = window_loops(nest, field, slides)
    if any(n not in within and constant_extent(n) > 1 for n in nest.reduction):
        return None
    return WindowParts(nest, lane, row, terms[0], field)


def _scheduled(builder: ScheduleBuilder, nest: Nest, parts: WindowParts) -> Scheduled | NoMatch:
    vectors = 2 if builder.machine.vector_registers >= CONVOLUTION_COSTS.two_vector_registers else 1
    width = min(vectors, constant_extent(parts.lane) // builder.vector_lanes(nest)) * builder.vector_lanes(
        nest
    )
    first, last = boundary_iterations(nest, parts.row)
    # What is picked from every second element takes registers: few of them, which weights take too,
    # hold one row.
    several = builder.machine.has_memory_operands or parts.step == 1 or vectors > 1
    height = CONVOLUTION_COSTS.plane_rows if several else 1
    if 0 < first + last <= constant_extent(parts.row) - height:
        builder.try_apply("peel", parts.row, first, last)
    row = handle(parts.row)
    rows, inner_row = builder.split_if_longer(row, height) if height > 1 else (row, None)
    tiles, inner_lane = builder.split_if_longer(parts.lane, width)
    if tiles:
        _ends_apart(builder, tiles, width, constant_extent(parts.lane), boundary_iterations(nest, parts.lane))
    outer = handles(n for n in nest.spatial if n is not parts.lane and n is not parts.row)
    outer += filter(None, (rows, tiles))
    if not outer:
        return NoMatch("a single tile")
    row_of_tile = list(filter(None, [inner_row]))
    builder.apply("reorder", *outer, *nest.reduction, *row_of_tile, inner_lane)
    whole = prod(map(constant_extent, nest.reduction)) <= CONVOLUTION_COSTS.unrolled_window_terms
    for loop in (*row_of_tile, *(nest.reduction if whole else [parts.term])):
        builder.try_apply("unroll", loop)
    builder.try_apply("vectorize", inner_lane)
    return Scheduled(outer)


def _ends_apart(
    builder: ScheduleBuilder, tiles: LoopHandle, width: int, size: int, known: tuple[int, int]
) -> None:
    """Peel the tiles off that reach past an edge; what fills no tile has a loop of its own
    already.
    """
    first, last = known
    beyond = max(0, last - size % width)
    counts = -(-first // width), -(-beyond // width)
    if 0 < sum(counts) < size // width:
        builder.try_apply("peel", tiles, *counts)
