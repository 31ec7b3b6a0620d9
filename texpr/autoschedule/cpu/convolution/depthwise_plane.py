"""Reductions over a window that slides over small planes: a copy of each plane with what is read
around it, such as zeros.

For rows of fewer elements than a vector, and for large windows over rows of a few vectors. Rows are
filled up to whole vectors; what a plane gives beyond its edges is written into the copy, which
stays in the first cache, and no load needs a condition. Where its rows are few, they are written
out: their conditions are known then. For steps of two it has even columns apart from odd ones. A
tile is as many rows as have registers. Sums keep their order. Where each term reads a plane of its
own, there is no copy: nothing of it would be read twice.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handles
from texpr.autoschedule.core.layouts import dimension_names
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.convolution import register_tiling
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.convolution.depthwise import WindowParts, window_parts
from texpr.autoschedule.cpu.gemm.packing import LINE
from texpr.ir.build import integer
from texpr.ir.expr import Tensor


class DepthwisePlane:
    """Reductions over a window that slides over each small plane for itself."""

    name, stage = "DepthwisePlane", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> WindowParts | NoMatch:
        """The parts of the nest."""
        found = window_parts(builder, nest, CONVOLUTION_COSTS.plane_lanes)
        if isinstance(found, NoMatch):
            return found
        size, terms = constant_extent(found.lane), prod(map(constant_extent, nest.reduction))
        lanes = _lanes(builder, found)
        if size >= builder.vector_lanes(nest) and terms <= CONVOLUTION_COSTS.unrolled_window_terms:
            return NoMatch("rows fill a vector, and windows are small")
        if size > CONVOLUTION_COSTS.plane_vectors * lanes or 4 * (-size % lanes) > size:
            return NoMatch("rows of many vectors, or many lanes would have nothing to do")
        costs = CONVOLUTION_COSTS
        if _copied_rows(found) > (
            costs.copied_plane_rows if found.step == 1 else costs.copied_plane_rows_apart
        ):
            return NoMatch("planes of many rows")
        if _is_read_once(found):
            return NoMatch("no two windows share an element: a copy would be read once")
        return found if _over_planes(found) else NoMatch("a single plane")

    def apply(self, builder: ScheduleBuilder, match: WindowParts) -> Scheduled:
        """The steps."""
        nest, outer = match.nest, _over_planes(match)
        tiles, lane = builder.split(match.lane, _lanes(builder, match), tail="pad")
        row_tiles, row = builder.split_if_longer(match.row, _height(builder, constant_extent(match.row)))
        over_tiles = [tiles, *filter(None, [row_tiles])]
        builder.apply("reorder", *outer, *over_tiles, *nest.reduction, row, lane)
        _copy_plane(builder, match, outer[-1])
        for loop in (tiles, row, match.term):
            builder.try_apply("unroll", loop)
        builder.apply("vectorize", lane)
        return Scheduled(outer)


def _lanes(builder: ScheduleBuilder, parts: WindowParts) -> int:
    """Lanes of a vector: of a half or a quarter of a register where rows are that short."""
    lanes = builder.vector_lanes(parts.nest)
    while lanes >= 2 * max(CONVOLUTION_COSTS.plane_lanes, constant_extent(parts.lane)):
        lanes //= 2
    return lanes


def _over_planes(parts: WindowParts) -> list[LoopHandle]:
    """The loops over planes."""
    return handles(n for n in parts.nest.spatial if n is not parts.lane and n is not parts.row)


def _copied_rows(parts: WindowParts) -> int:
    """Rows of a plane that windows reach, with those beyond its edges."""
    return register_tiling.reach(parts.field, parts.row, (parts.row, *parts.nest.reduction))


def _is_read_once(parts: WindowParts) -> bool:
    """True where each term reads a plane of its own, as those of a transposed convolution do."""
    slides = {*parts.field.moving(parts.row.var), *parts.field.moving(parts.lane.var)}
    return all(not slides.issuperset(parts.field.moving(n.var)) for n in parts.nest.reduction)


def _height(builder: ScheduleBuilder, rows: int) -> int:
    """Rows of a tile: as many as leave registers to what is loaded, and fewest over."""
    most = min(rows, builder.machine.vector_registers // 2)
    return min(range(max(1, most // 2), most + 1), key=lambda n: (-rows % n, -n))


def _copy_plane(builder: ScheduleBuilder, parts: WindowParts, plane: LoopHandle) -> None:
    """Copy what windows reach of a plane, rows as vectors."""
    tensor = parts.field.tensor
    buffer = builder.new_buffer("cache_read", tensor, plane)
    last = buffer.rank - 1
    lanes = LINE // tensor.dtype.bytes
    if (integer(buffer.shape[last]) or 0) <= lanes:
        builder.try_apply("pad", buffer, last, lanes)
    if (integer(buffer.shape[last - 1]) or 0) <= CONVOLUTION_COSTS.copied_plane_rows:
        builder.apply("unroll", copy_loop(buffer, last - 1))
    if parts.step == 2:
        _by_phases(builder, buffer)
    else:
        builder.apply("vectorize", copy_loop(buffer, last))


def _by_phases(builder: ScheduleBuilder, buffer: Tensor) -> None:
    """Elements of even columns beside each other, and those of odd ones: lanes two elements apart
    are neighbours then.
    """
    names = dimension_names(buffer)
    *rows, column = names
    pairs, phase = builder.split(copy_loop(buffer, buffer.rank - 1), 2, tail="peel")
    builder.apply("reorder", phase, pairs)
    builder.apply("unroll", phase)
    builder.apply("vectorize", pairs)
    builder.apply("layout", buffer, f"{' '.join(names)} -> {' '.join(rows)} {column}%2 {column}/2")
