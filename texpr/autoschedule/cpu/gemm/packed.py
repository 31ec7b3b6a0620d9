"""Large contractions: blocks for the caches, an operand packed into panels, a tile of sums in
registers.

A contraction is a reduction with one read that moves with the vector loop (the panel) and stays
along another loop over the target (the rows), which reuses it: matrix products of any layout,
batched or not, and convolutions. Sums keep their order. A small panel is packed where its lanes lie
apart: without lanes, sums would have to be added up across vectors.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008.
"""

from __future__ import annotations

from math import isqrt, prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handle, handles
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu import scalable_vectors
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.indexed_fma import rows_beside, terms_together
from texpr.autoschedule.cpu.gemm.large_contraction import (
    Contraction,
    by_element,
    copies_panels,
    find_contraction,
    lane_waste,
)
from texpr.autoschedule.cpu.gemm.packing import ALIAS, LINE, accumulate_in_registers, copy_operand, pack
from texpr.autoschedule.cpu.gemm.work_split import fair_blocks, is_uneven, used_again
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.tensors import bytes_of


class PackedGemm:
    """Large contractions: an operand packed into panels, a tile of sums in registers."""

    name, stage = "PackedGemm", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Contraction | NoMatch:
        """The parts of the nest."""
        return find_contraction(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: Contraction) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _scheduled(builder: ScheduleBuilder, c: Contraction) -> Scheduled | NoMatch:
    nest = c.nest
    others = [n for n in nest.spatial if n is not c.vector_loop and n is not c.row_loop]
    alone = handles(n for n in others if c.packed_operand.stride(n.var) != 0)
    sharing = handles(n for n in others if c.packed_operand.stride(n.var) == 0)
    scattered = [a for a in nest.accesses[1:] if a is not c.packed_operand and _scattered(c, a)]
    tiles = -(-constant_extent(c.vector_loop) // c.width)
    tiles_of_block = _tiles_of_lane_block(builder, c, tiles)
    alone_in_nest = not nest.outer and all(constant_extent(n) == 1 for n in others)
    uneven = is_uneven(builder.machine.cores, tiles, tiles_of_block)
    by_rows = alone_in_nest and (bool(scattered) or uneven)
    by_others = None if nest.outer or by_rows or not uneven else used_again(builder, c.packed_operand, others)
    any_length_lanes = bool(builder.machine.scalable_bytes)
    rows_first = tiles_of_block >= tiles and not any_length_lanes and _leaves_lanes(builder, c, tiles)
    deep, shallow = ([], handles(nest.reduction)) if rows_first else _depths(builder, c)
    packed_rows = [*scattered, *_kept(builder, c, scattered)]
    # A tile that begins earlier would have rows of two panels, each with an address of its own.
    filled = any_length_lanes and _fills_rows(c, scattered)
    tail = ("pad" if filled else "peel") if deep or by_rows or packed_rows else "overlap"
    rows = None
    if rows_first:
        lane_blocks, lanes = builder.split(c.vector_loop, constant_extent(c.vector_loop), tail="exact")
        outer = [*alone, lane_blocks]
        row_blocks, row_tiles, row = rows = _cut_rows(builder, c, by_rows, tail)
        builder.apply("reorder", *outer, *row_blocks, *sharing, *row_tiles, lanes, *shallow, row)
        lane_tiles, lane = builder.split(lanes, c.width, tail="peel")
    else:
        lane_tiles, lane = _cut_lanes(builder, c)
        lane_blocks, lane_tiles = builder.split(lane_tiles, tiles_of_block, tail="clip")
        outer = [*alone, lane_blocks]
        tiles_of = (lane_tiles, lane, *shallow) if any_length_lanes else (lane_tiles, *shallow, lane)
        builder.apply("reorder", *outer, *deep, c.row_loop, *sharing, *tiles_of)
    copied = pack(
        builder,
        c.packed_operand,
        (outer + deep)[-1],
        c.vector_loop,
        c.width,
        c.sums,
        _belongs_to(c, lane),
        (lane_blocks, lane_tiles, lane),
    )
    if copied is None:
        return NoMatch("the operand has no dimension for its lanes, or cannot be copied")
    row_blocks, row_tiles, row = rows or _cut_rows(builder, c, by_rows, tail)
    inside = [*sharing, *row_tiles, lane_tiles]
    of_tile = (lane, *shallow, row) if any_length_lanes else (*shallow, row, lane)
    builder.apply("reorder", *row_blocks, *inside, *of_tile)
    beside, late = _pack_row_operand(
        builder, c, packed_rows, row_tiles, (row_blocks or outer + deep)[-1], row
    )
    _pair_terms(builder, c, beside, shallow, constant_extent(c.row_loop) % c.height if tail == "peel" else 0)
    if deep:
        accumulate_in_registers(builder, nest, lane, [lane] if any_length_lanes else inside[::-1])
    asking = not rows_first and lane_waste(c.vector_loop, c.width) > 0
    _finish_tile(builder, late, row_tiles, row, lane, lane_tiles if asking else None)
    shared = row_blocks or list(filter(None, [by_others]))
    if shared and bytes_of(copied.buffer) >= CPU_COSTS.started_loop_work * copied.buffer.dtype.bytes:
        builder.try_apply("parallel", copied.outermost)
    return Scheduled(shared or outer)


def _fills_rows(c: Contraction, scattered: list[Access]) -> bool:
    """True if the rows that are left over of the tiles have a whole tile, filled with zeros."""
    rows = constant_extent(c.row_loop)
    return 0 < -rows % c.height <= rows // GEMM_COSTS.filled_tiles and _packs_rows(c, scattered)


def _pair_terms(
    builder: ScheduleBuilder, c: Contraction, beside: list[Tensor], shallow: list[LoopHandle], left: int
) -> None:
    """Several terms of each sum together, where that saves loads.

    Args:
        left: rows that are left over of the tiles.
    """
    if builder.machine.scalable_bytes:
        if beside and shallow:
            scalable_vectors.terms_together(builder, shallow[-1], left)
    elif builder.machine.has_indexed_fma and beside and shallow:
        terms_together(builder, beside, shallow[-1])
    elif (
        not builder.machine.has_indexed_fma
        and shallow
        and constant_extent(c.row_loop) >= GEMM_COSTS.unrolled_pair_rows
    ):
        in_pairs(builder, shallow[-1])


def _finish_tile(
    builder: ScheduleBuilder,
    late: list[Tensor],
    row_tiles: list[LoopHandle],
    row: LoopHandle,
    lane: LoopHandle,
    asking: LoopHandle | None,
) -> None:
    """Rows written out, lanes as vectors; operands that come late are asked for a tile of rows ahead.

    Args:
        asking: the loop over tiles whose last one does not have all lanes, if there is one.
    """
    for tensor in late:
        builder.try_apply("prefetch", tensor, row_tiles[0], 1)
    builder.try_apply("unroll", row)
    if builder.machine.scalable_bytes:
        builder.try_apply("vectorize_scalable", lane, CPU_COSTS.scalable_tile_registers)
    else:
        builder.try_apply("vectorize", lane)
    if asking is not None and not builder.machine.has_masks:
        builder.try_apply("partition", asking)


def _pack_row_operand(
    builder: ScheduleBuilder,
    c: Contraction,
    scattered: list[Access],
    row_tiles: list[LoopHandle],
    at: LoopHandle,
    row: LoopHandle,
) -> tuple[list[Tensor], list[Tensor]]:
    """Copy what rows read where that pays: the copies of tiles of rows, and the tensors whose rows
    come late from memory.

    Args:
        scattered: reads whose terms lie apart, which are copied at the loop `at`.
        row_tiles: the loop over tiles of rows, if there is one; `row` that over the rows of a tile.
    """
    beside: list[Tensor] = []
    late: list[Tensor] = []
    for a in (a for a in c.nest.accesses[1:] if a is not c.packed_operand):
        if a in scattered and (
            panels := pack(
                builder, a, at, c.row_loop, c.height, c.sums, _belongs_to(c, row), (*row_tiles, row)
            )
        ):
            beside.append(panels.buffer)
        elif (
            row_tiles and a not in scattered and (copy := _by_lanes(builder, c, a, row_tiles[0])) is not None
        ):
            beside.append(copy)
        elif row_tiles and a not in scattered and a.tensor.dtype.bytes < c.sums.bytes and c.sums.is_float:
            _widened(builder, a, row_tiles[0], c.sums)
        elif row_tiles and _exceeds_l2(builder, c, a):
            late.append(a.tensor)
    return beside, late


def _belongs_to(c: Contraction, loop: LoopHandle) -> LoopHandle | None:
    """The loop along which an operand is read, where both are one tensor; else None."""
    return loop if sum(a.tensor is c.packed_operand.tensor for a in c.nest.accesses[1:]) > 1 else None


def _leaves_lanes(builder: ScheduleBuilder, c: Contraction, tiles: int) -> bool:
    """True if some lanes are left over of the tiles, and have a tile of their own beside the others
    of the same rows. No tile asks which lanes it has then, which takes little where instructions have
    masks. Not of joined lanes, nor where the panel leaves the second cache.
    """
    terms = prod(map(constant_extent, c.nest.reduction))
    return (
        tiles > 1
        and (not builder.machine.has_memory_operands or _lane_tail(builder, c) == "peel")
        and lane_waste(c.vector_loop, c.width) > 0
        and sum(c.vector_loop.var in variables(i) for i in c.packed_operand.indices) == 1
        and terms * tiles * c.width * _packed_bytes(c) <= builder.machine.caches[:2][-1]
    )


def _cut_lanes(builder: ScheduleBuilder, c: Contraction) -> tuple[LoopHandle, LoopHandle]:
    """The loops over tiles of lanes and over their lanes; of joined lanes, which nothing can fill
    up, the rest is peeled off.
    """
    filled = builder.try_split(c.vector_loop, c.width, tail=_lane_tail(builder, c))
    return filled or builder.split(c.vector_loop, c.width, tail="peel")


def in_pairs(builder: ScheduleBuilder, terms: LoopHandle) -> LoopHandle:
    """Two terms of each sum an iteration, if none is left over: what the loop itself costs is
    shared, for code twice as long.

    The loop over pairs, or over terms where they have none.
    """
    if (
        builder.machine.vector_registers >= 32
        and constant_extent(builder.loop(terms)) % 2 == 0
        and (cut := builder.try_split(terms, 2, tail="exact"))
    ):
        builder.try_apply("unroll", cut[1])
        return cut[0]
    return terms


def _cut_rows(
    builder: ScheduleBuilder, c: Contraction, by_rows: bool, tail: str
) -> tuple[list[LoopHandle], list[LoopHandle], LoopHandle]:
    """The loops over blocks of rows, if there are any, over their tiles, if there are several, and
    over the rows.
    """
    tiles, row = builder.split_if_longer(c.row_loop, c.height, tail)
    if not tiles or not by_rows:
        return [], [tiles] if tiles else [], row
    blocks, tiles = builder.split_if_longer(
        tiles, _tiles_of_row_block(builder, constant_extent(c.row_loop), c.height), "clip"
    )
    return [blocks] if blocks else [], [tiles], row


def _lane_tail(builder: ScheduleBuilder, c: Contraction) -> str:
    """Tail of the split over lanes. A small remainder beside many tiles is padded with zeros, so
    that there is one kind of tile. So are lanes that are less than a tile, and a remainder in parts
    of registers, if these are more than a tile has and constants take registers too, or there are
    not so many for as many rows.
    """
    if builder.machine.scalable_bytes:
        return "clip"
    size, lanes = constant_extent(c.vector_loop), builder.vector_lanes(c.nest)
    registers = size % c.width // lanes + (size % lanes).bit_count()
    few = (
        not builder.machine.has_memory_operands
        or registers * (c.height + 1) >= builder.machine.vector_registers
    )
    ragged = few and size > c.width and registers > c.width // lanes
    filled = lane_waste(c.vector_loop, c.width) <= size // GEMM_COSTS.filled_tiles
    return "pad" if ragged or filled or size < c.width else "peel"


def _tiles_of_lane_block(builder: ScheduleBuilder, c: Contraction, tiles: int) -> int:
    """Tiles of a block of lanes. Half of the second cache holds a block once packed; blocks may be
    half as large, as rows come again for each of them, where no core then has many more tiles than
    others. Where these and all of the panel stay in the second cache, and loads are dear, blocks
    are small, which are found there while they are warm. Where tiles have few registers and rows
    stay in the second cache, a block has a part of the first one.
    """
    cores, most = builder.machine.cores, _most_tiles(builder, c, tiles)
    if tiles <= most:
        return tiles
    across = c.packed_operand.stride(c.vector_loop.var) != 1
    # Whole blocks of what lies across are turned fast.
    return max(fair_blocks(tiles, most, cores), key=lambda n: (across and tiles % n == 0, n))


def _most_tiles(builder: ScheduleBuilder, c: Contraction, tiles: int) -> int:
    """Tiles of lanes in a block, at most, of so many in all."""
    nearest, nearby = builder.machine.caches[0], builder.machine.caches[:2][-1]
    depth = min(
        _most_terms(builder, c),
        prod(constant_extent(n) for n in c.nest.reduction if c.packed_operand.stride(n.var) != 0),
    )
    tile = depth * _packed_bytes(c) * c.width
    far = [a for a in c.nest.accesses[1:] if builder.exceeds_l2(c.nest, a)]
    near = copies_panels(builder) and far in ([], [c.packed_operand])
    if near and not _leaves_lanes(builder, c, tiles):
        return max(1, round(nearest / GEMM_COSTS.panel_l1_fraction / tile))
    if builder.machine.split_load_cost > 1 and not far:
        return max(1, round(nearby / GEMM_COSTS.small_block_l2_fraction / tile))
    return max(2, round(nearby / 2 / tile))


def _widened(builder: ScheduleBuilder, access: Access, at: LoopHandle, sums: DType) -> None:
    """A tile of rows in the type of the sums; rows begin in different sets of the first cache."""
    if (buffer := builder.try_new_buffer("cache_read", access.tensor, at, dtype=sums.name)) is not None:
        _, lane = builder.split_if_longer(
            copy_loop(buffer, buffer.rank - 1), builder.machine.vector_bytes // sums.bytes * 4, "peel"
        )
        builder.try_apply("vectorize", lane)
        builder.try_apply("pad", buffer, buffer.rank - 1, LINE // sums.bytes, extra=LINE // sums.bytes)


def _by_lanes(builder: ScheduleBuilder, c: Contraction, access: Access, at: LoopHandle) -> Tensor | None:
    """Copy a tile of rows for products that take one element of a register; the copy, None where
    that does not pay or is not possible.
    """
    along = access.moving(c.row_loop.var)
    if (
        not by_element(builder)
        or len(along) != 1
        or not _is_shared(c)
        or not c.sums.is_float
        or (buffer := copy_operand(builder, access, at, c.sums)) is None
    ):
        return None
    rows_beside(builder, buffer, along[0])
    return builder.current_buffer(buffer)


def _is_shared(c: Contraction) -> bool:
    """True if so many tiles of lanes use a tile of rows that a copy of it pays."""
    return constant_extent(c.vector_loop) >= GEMM_COSTS.indexed_row_tiles * c.width


def _packs_rows(c: Contraction, scattered: list[Access]) -> bool:
    """True if a copy of rows may end in zeros: where they are read in place, each term would ask
    whether its row is there.
    """
    return (
        _is_shared(c)
        and c.sums.is_float
        or all(a in scattered for a in c.nest.accesses[1:] if a is not c.packed_operand)
    )


def _scattered(c: Contraction, access: Access) -> bool:
    """Terms of one sum that lie apart: a tile would touch as many lines of memory as it has
    terms.
    """
    return access.stride(c.nest.reduction[-1].var) not in (0, 1) and access.stride(c.row_loop.var) != 0


def _kept(builder: ScheduleBuilder, c: Contraction, scattered: list[Access]) -> list[Access]:
    """Constant operands that are packed once, if the first cache does not hold them: a tile of rows is
    one stream of memory then, in place of one for each row, which may lie in the same sets of caches.
    """
    return [
        a
        for a in c.nest.accesses[1:]
        if a is not c.packed_operand
        and a not in scattered
        and builder.is_constant(a.tensor)
        and a.stride(c.row_loop.var) != 0
        and bytes_of(a.tensor) > builder.machine.caches[0]
    ]


def _exceeds_l2(builder: ScheduleBuilder, c: Contraction, access: Access) -> bool:
    """True if rows are short runs of memory, which no hardware foresees, so that a tile had better
    ask for the rows of the next one. Not where those would push its own out of the first cache, nor
    where two products begin in a cycle: requests take the places of loads then.
    """
    terms, step = c.nest.reduction[-1], access.stride(c.row_loop.var) or 0
    runs = access.stride(terms.var) == 1 and step >= constant_extent(terms)
    idle = builder.machine.fma_per_cycle == 1
    return (
        idle and runs and step * access.tensor.dtype.bytes % ALIAS != 0 and builder.exceeds_l2(c.nest, access)
    )


def _most_terms(builder: ScheduleBuilder, c: Contraction) -> int:
    """The most terms of a block: all if they are few, else as many as move least memory.

    With blocks of d terms, of which the second cache holds S elements of the panel, each sum goes
    to memory and back for every d terms, and rows come again for every S/d lanes: 2/d + d/S per
    term is least for d = sqrt(2*S).
    """
    terms = prod(map(constant_extent, c.nest.reduction))
    most = GEMM_COSTS.block_terms
    if terms <= most:
        return most
    return min(most, max(2 * GEMM_COSTS.packing_rows, isqrt(2 * builder.l2_budget // _packed_bytes(c))))


def _packed_bytes(c: Contraction) -> int:
    """Of an element of the panel once it is packed."""
    return max(c.packed_operand.tensor.dtype.bytes, c.sums.bytes if c.sums.is_float else 1)


def _depths(builder: ScheduleBuilder, c: Contraction) -> tuple[list[LoopHandle], list[LoopHandle]]:
    """The reduction loops outside and inside a block, cut so that the inner ones have at most
    `_most_terms`.
    """
    deep: list[LoopHandle] = []
    shallow: list[LoopHandle] = []
    room = _most_terms(builder, c)
    for loop in reversed(c.nest.reduction):
        n = constant_extent(loop)
        if not deep and n <= room:
            shallow.insert(0, handle(loop))
            room //= max(1, n)
        elif not deep and room >= 32:
            outer, inner = builder.split_longer(loop, even(n, room), "clip")
            deep, shallow = [outer], [inner, *shallow]
        else:
            deep.insert(0, handle(loop))
    return deep, shallow


def _tiles_of_row_block(builder: ScheduleBuilder, rows: int, height: int) -> int:
    """As many tiles as let each core have the same number of blocks, two if they have `block_rows`,
    more if they would have more than `most_block_rows`.
    """
    cores = builder.machine.cores
    most = max(2, -(-rows // (GEMM_COSTS.most_block_rows * cores)))
    rounds = max(1, min(most, rows // (GEMM_COSTS.block_rows * cores)))
    return -(-max(1, rows // height) // (rounds * cores))
