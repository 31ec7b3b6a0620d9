"""Contractions that an instruction sums in squares: two rows of one operand times two rows of the
other, over a few terms each.

Both operands are packed in groups of terms, so that two rows of a group fill a register; the sums
of a tile lie in squares too. Tiles are filled up with zeros in all three directions: to sums that
start at 0 these add nothing. What instructions do is in `ir.instructions`.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import (
    NO_REDUCTION,
    NOT_A_PRODUCT,
    UNKNOWN_EXTENTS,
    NoMatch,
    Scheduled,
    Stage,
)
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import permission
from texpr.autoschedule.cpu.gemm.work_split import whole_rounds
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.instructions import meaning
from texpr.ir.loop import For
from texpr.ir.traverse import statements, variables
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen

TILES = ((8, 12), (12, 8))
"""Rows and columns of a tile: 24 squares of sums, four or six registers of one operand and one
or two of the other.
"""


@frozen
class _Squares:
    """The parts of such a contraction.

    Attributes:
        side, terms: rows of each operand that the instruction takes, and terms.
        row, lane, term: loops along the rows of the result, along its columns, and over the terms.
        height, width: of a tile.
        left, right: the reads that move with `row` and with `lane`.
    """

    nest: Nest
    instruction: str
    side: int
    terms: int
    row: For
    lane: For
    term: For
    left: Access
    right: Access
    height: int
    width: int


class MatrixInstructions:
    """Contractions whose inner loops an instruction runs, which multiplies small matrices."""

    name, stage = "MatrixInstructions", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Squares | NoMatch:
        """The parts of the nest."""
        return _squares(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Squares) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _squares(builder: ScheduleBuilder, nest: Nest) -> _Squares | NoMatch:
    if not nest.reduction:
        return NO_REDUCTION
    if (
        nest.outer
        or nest.recurrent
        or nest.main.update != "add"
        or len(nest.reduction) != 1
        or len(nest.accesses) != 3
    ):
        return NOT_A_PRODUCT
    if len(nest.spatial) != 2:
        return NoMatch("not one loop over rows and one over columns")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    target, (row, lane), term = nest.accesses[0], nest.spatial, nest.reduction[0]
    left = next((a for a in nest.accesses[1:] if a.stride(row.var) and a.stride(lane.var) == 0), None)
    right = next((a for a in nest.accesses[1:] if a.stride(lane.var) and a.stride(row.var) == 0), None)
    rows, columns = constant_extent(row), constant_extent(lane)
    if left is None or right is None or min(rows, columns) < min(min(TILES)):
        return NoMatch("no operand for each of both loops, or few rows or columns")

    def filled(tile: tuple[int, int]) -> int:
        return -(-rows // tile[0]) * tile[0] * -(-columns // tile[1]) * tile[1]

    # What is left over is filled up; along columns that takes a mask where they are copied.
    height, width = min(TILES, key=lambda tile: (filled(tile), columns % tile[1] != 0))
    if 2 * filled((height, width)) > 3 * rows * columns:
        return NoMatch("tiles would be mostly filling")  # instructions for fewer products do as much
    for name in sorted(builder.machine.instructions - builder.machine.unprofitable_instructions):
        does = meaning(name)
        if len(does.inputs) != 2 or any(t.rank != 2 for t in (*does.inputs, *does.outputs)):
            continue
        side, _, terms = (constant_extent(n) for n in statements(does) if isinstance(n, For))
        if [t.dtype for t in (*does.inputs, *does.outputs)] == [
            a.tensor.dtype for a in (left, right, target)
        ]:
            found = _Squares(nest, name, side, terms, row, lane, term, left, right, height, width)
            return found if constant_extent(term) >= terms else NoMatch("few terms")
    return NoMatch("no instruction multiplies small matrices of these types")


def _scheduled(builder: ScheduleBuilder, s: _Squares) -> Scheduled | NoMatch:
    if s.left.tensor.rank != 2 or s.right.tensor.rank != 2:
        return NoMatch("operands are no matrices")
    lane_tiles, lane = builder.split(s.lane, s.width, tail="pad")
    row_tiles, row = builder.split(s.row, s.height, tail="pad")
    groups, term = builder.split(s.term, s.terms, tail="pad")
    tiles = constant_extent(builder.loop(lane_tiles))
    blocks, lane_tiles = builder.split(lane_tiles, -(-tiles // _blocks(builder, s, tiles)), tail="clip")
    builder.apply("reorder", blocks, row_tiles, lane_tiles, groups, row, lane, term)
    packed = [
        _packed(builder, a, at, along, width, s.terms)
        for a, at, along, width in ((s.right, blocks, s.lane, s.width), (s.left, row_tiles, s.row, s.height))
    ]
    rows, row = builder.split(row, s.side, tail="exact")
    lanes, lane = builder.split(lane, s.side, tail="exact")
    _, together = builder.split_if_longer(groups, GEMM_COSTS.unrolled_groups, "peel")
    builder.apply("reorder", together, rows, lanes, row, lane, term)
    for each in (together, rows, lanes, row):
        builder.try_apply("unroll", each)
    builder.try_apply("vectorize", lane)
    total = s.nest.main.tensor
    for buffer, form in (*packed, (total, f"i j -> i/{s.side} j/{s.side} i%{s.side} j%{s.side}")):
        builder.apply("layout", buffer, form)
    builder.apply("tensorize", row, s.instruction, **permission(s.instruction))
    return Scheduled([blocks])


def _blocks(builder: ScheduleBuilder, s: _Squares, tiles: int) -> int:
    """Number of blocks of columns, each of which half of the second cache holds once packed: as
    many for each core.
    """
    most = max(1, builder.l2_budget // (constant_extent(s.term) * s.right.tensor.dtype.bytes * s.width))
    return whole_rounds(builder.machine.cores, tiles, most)


def _packed(
    builder: ScheduleBuilder, a: Access, at: LoopHandle, loop: For, width: int, terms: int
) -> tuple[Tensor, str]:
    """Copy what is read to panels of `width` rows, in which groups of terms lie beside each other;
    the buffer, and its layout, which comes last: only then are all indices sums of tiles and places
    in them.
    """
    along = next((d for d, i in enumerate(a.indices) if loop.var in variables(i)), 0)
    buffer, other = builder.new_buffer("cache_read", a.tensor, at), 1 - along
    whole = copy_loop(buffer, along)
    panels, lane = builder.try_split(whole, width, tail="exact") or (None, whole)
    groups, term = builder.split(copy_loop(buffer, other), terms, tail="exact")
    builder.try_apply("reorder", *filter(None, (groups, panels)), lane, term)
    if a.stride(loop.var) == 1:  # rows of terms are woven
        builder.try_apply("unroll", term)
        builder.try_apply("vectorize", lane)
    else:
        builder.try_apply("vectorize", term)
    names = "ab"
    return (
        buffer,
        f"a b -> {names[along]}/{width} {names[other]}/{terms} {names[along]}%{width} {names[other]}%{terms}",
    )
