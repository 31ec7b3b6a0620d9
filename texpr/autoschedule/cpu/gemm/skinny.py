"""Products of few rows, whose other operand does not stay near: its columns are taken in strips as
wide as a tile of registers.

A strip comes to the second cache with the first rows and stays there for the others, so that a
copy, which reads and writes all of it once more, would cost more than it saves. For more than
`skinny_rows` it pays.

Where two products begin in a cycle, a core would wait for lines that come from further away for
each row of tiles. There a block of a strip is copied on its way: the first tile of rows reads the
operand itself and leaves what it has read in a panel, for all others to read from the first cache.
No pass over memory is made for the copy.

Operands that come from memory are read by rows (`cpu.reduction.streaming`), constant ones are packed
once (`packed`).
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import (
    NO_REDUCTION,
    NOT_A_PRODUCT,
    UNKNOWN_EXTENTS,
    NoMatch,
    Scheduled,
    Stage,
)
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.large_contraction import least_rows
from texpr.autoschedule.cpu.gemm.packed import in_pairs
from texpr.autoschedule.cpu.gemm.packing import WAYS
from texpr.autoschedule.cpu.gemm.tile_shapes import height_of
from texpr.ir.build import integer
from texpr.ir.expr import Mul
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen

HEIGHT = WAYS
"""Rows of a tile, at most: as many as L1 has ways."""


@frozen
class _Product:
    """The parts of a product of few rows.

    Attributes:
        row, lane, term: the loops.
        operand: the read that moves with `lane`.
    """

    nest: Nest
    row: For
    lane: For
    term: For
    operand: Access

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of the three loops."""
        return constant_extent(self.row), constant_extent(self.lane), constant_extent(self.term)


class SkinnyGemm:
    """Products of few rows: columns of the other operand in strips."""

    name, stage = "SkinnyGemm", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Product | NoMatch:
        """The parts of the nest."""
        return _few_rows(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Product) -> Scheduled | NoMatch:
        """The steps, where a strip stays in the cache."""
        way = _copied_on_the_way if builder.machine.fma_per_cycle > 1 else _read_in_place
        return way(builder, match)


def _few_rows(builder: ScheduleBuilder, nest: Nest) -> _Product | NoMatch:
    machine = builder.machine
    if not nest.reduction:
        return NO_REDUCTION
    if (
        nest.enclosing_loops
        or nest.outer
        or nest.recurrent
        or len(nest.spatial) != 2
        or len(nest.reduction) != 1
        or len(nest.accesses) != 3
    ):
        return NOT_A_PRODUCT
    if machine.vector_registers < 32 or machine.has_indexed_fma or len(machine.caches) < 2:
        return NoMatch("the machine has fewer than 32 registers, or takes elements of registers")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    (row, lane), (term,) = nest.spatial, nest.reduction
    operand = next((a for a in nest.accesses[1:] if a.stride(lane.var) == 1 and a.stride(row.var) == 0), None)
    other = next(
        (a for a in nest.accesses[1:] if a.stride(lane.var) == 0 and a.stride(row.var) not in (0, None)), None
    )
    if (
        operand is None
        or other is None
        or not isinstance(nest.main.value, Mul)
        or operand.tensor.dtype != nest.main.tensor.dtype
    ):
        return NoMatch("no product of rows and of an operand that lies along the columns")
    if builder.is_constant(operand.tensor) and constant_extent(row) >= least_rows(builder, operand):
        return NoMatch("a constant operand is packed once")
    return _Product(nest, row, lane, term, operand)


def _is_full(lanes: int, width: int) -> bool:
    """True if few lanes of the last tile are idle."""
    return GEMM_COSTS.skinny_idle_lane_fraction * (-lanes % width) <= lanes


NOT_SKINNY = NoMatch("too few or too many rows, or strips that do not stay in the cache")


def _read_in_place(builder: ScheduleBuilder, p: _Product) -> Scheduled | NoMatch:
    (rows, lanes, terms), each, (first, second) = (
        p.sizes,
        p.operand.tensor.dtype.bytes,
        builder.machine.caches[:2],
    )
    width = _width(lanes, builder.vector_lanes(p.nest), (3, 2))
    stays = (
        terms * width * each <= second // GEMM_COSTS.strip_l2_fraction
        and first < terms * lanes * each <= GEMM_COSTS.skinny_operand_l2s * second
    )
    few = GEMM_COSTS.skinny_least_rows <= rows <= GEMM_COSTS.skinny_rows
    if not (few and stays and _is_full(lanes, width)):
        return NOT_SKINNY
    strips, lane = builder.split_if_longer(p.lane, width)
    tiles, row = builder.split_if_longer(p.row, -(-rows // -(-rows // HEIGHT)))
    outer = list(filter(None, (strips, tiles)))
    builder.apply("reorder", *outer, p.term, row, lane)
    builder.apply("unroll", row)
    builder.apply("vectorize", lane)
    return Scheduled(outer)


def _width(lanes: int, register: int, choice: tuple[int, ...]) -> int:
    """Lanes of a tile: as many registers as come first in `choice`, or fewer where less is left
    over.
    """
    return min(choice, key=lambda n: -(-lanes // (n * register)) * n) * register


def _copied_on_the_way(builder: ScheduleBuilder, p: _Product) -> Scheduled | NoMatch:
    """Blocks of terms so long that the panel and the rows that meet it stay in the first cache."""
    (rows, lanes, terms), each, (first, second) = (
        p.sizes,
        p.operand.tensor.dtype.bytes,
        builder.machine.caches[:2],
    )
    width = _width(lanes, builder.vector_lanes(p.nest), (4, 3))
    most = GEMM_COSTS.copied_skinny_rows if builder.machine.split_load_cost > 1 else GEMM_COSTS.skinny_rows
    block = even(terms, max(1, first * 2 // 3 // (width * each)))
    far = terms * lanes * each > second // GEMM_COSTS.skinny_operand_l2_fraction
    if (
        not (GEMM_COSTS.skinny_least_rows <= rows <= most and far and _is_full(lanes, width))
        or terms % block
        or lanes <= width
    ):
        return NOT_SKINNY
    strips, lane = builder.split_if_longer(p.lane, width, "pad")
    shares = None
    if strips is not None and builder.machine.cores > 1:
        shares, strips = builder.split_if_longer(strips, -(-lanes // width // builder.machine.cores), "clip")
    blocks, term = builder.split_if_longer(p.term, block, "exact")
    height = GEMM_COSTS.wide_tile_rows
    tiles, row = builder.split_if_longer(
        p.row, height_of(rows, height) if rows < GEMM_COSTS.skinny_rows else height
    )
    if strips is None or tiles is None:
        return NOT_SKINNY
    builder.apply("reorder", *filter(None, (shares, blocks)), strips, tiles, term, row, lane)
    _leave_behind(builder, p, strips, tiles, term, block)
    in_pairs(builder, term)
    builder.apply("unroll", row)
    builder.apply("vectorize", lane)
    return Scheduled([shares or strips] if shares or not blocks else [])


def _leave_behind(
    builder: ScheduleBuilder, p: _Product, strips: LoopHandle, tiles: LoopHandle, term: LoopHandle, block: int
) -> None:
    """The panel of a strip is computed by the first tile of rows."""
    panel = builder.new_buffer("cache_read", p.operand.tensor, strips)
    builder.split(copy_loop(panel, 0), block)
    builder.apply("vectorize", copy_loop(panel, 1))
    builder.apply("peel", tiles, 1, 0)
    builder.apply("compute_at", panel, term, recompute=False)
