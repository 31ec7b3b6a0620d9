"""Large contractions: blocks for the caches, an operand packed into panels, a tile of sums in
registers.

A contraction is a reduction with one read that moves with the vector loop (the panel) and stays
along another loop over the target (the rows), which reuses it: matrix products of any layout,
batched or not, and convolutions. Sums keep their order. A small panel is packed where its lanes lie
apart: without lanes, sums would have to be added up across vectors.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod

from texpr.autoschedule.core.builder import UNBOUNDED, ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handle, handles
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NO_REDUCTION, UNKNOWN_EXTENTS, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu import scalable_vectors as any_length
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.indexed_fma import rows_beside, terms_together
from texpr.autoschedule.cpu.gemm.packing import ALIAS, LINE, WAYS, accumulate_in_registers, copy_operand, pack
from texpr.autoschedule.cpu.gemm.work_split import busiest_of, is_uneven, used_again
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.tensors import bytes_of


@dataclass(frozen=True, slots=True)
class _Contraction:
    """The parts of a large contraction.

    Attributes:
        vector_loop: the loop whose iterations are lanes.
        row_loop: the loop along which the packed operand is used again.
        packed_operand: the read that moves with `vector_loop`, which is copied to panels.
        width, height: iterations of `vector_loop` and of `row_loop` in a tile of registers.
    """

    nest: Nest
    vector_loop: For
    row_loop: For
    packed_operand: Access
    width: int
    height: int

    @property
    def sums(self) -> DType:
        """The type in which is added."""
        return self.nest.main.tensor.dtype


class PackedGemm:
    """Large contractions: an operand packed into panels, a tile of sums in registers."""

    name, stage = "PackedGemm", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Contraction | NoMatch:
        """The parts of the nest."""
        return _contraction(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Contraction) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _contraction(builder: ScheduleBuilder, nest: Nest) -> _Contraction | NoMatch:
    if not nest.reduction or nest.main.update is None:
        return NO_REDUCTION
    lanes = builder.vector_lanes(nest)
    if nest.recurrent or builder.machine.vector_registers < 16:
        return NoMatch("a recurrence, or a machine with few registers")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    lane = nest.contiguous(lanes)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1:
        return NoMatch("no vector of elements along which one operand alone moves")
    panel = moving[0]
    if constant_extent(lane) < 2 * lanes and (
        constant_extent(lane) > lanes or panel.stride(lane.var) == 1 or builder.machine.has_indexed_fma
    ):
        return NoMatch(
            "few elements side by side"
        )  # a single register of lanes pays where its panel is turned in registers as a whole
    sharing = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0]
    if builder.machine.scalable_bytes:
        width, height = any_length.tile_of(builder, nest.main.tensor.dtype)
    else:
        most = max(map(constant_extent, sharing), default=0)
        width, height = tile_of(
            builder,
            constant_extent(lane),
            lanes,
            _places(nest, panel),
            most,
            panel.stride(lane.var) != 1,
            nest.main.tensor.dtype.is_int,
        )
    rows = [n for n in sharing if constant_extent(n) >= height]
    sharers = prod(map(constant_extent, sharing))
    joined = sum(lane.var in variables(i) for i in panel.indices) > 1
    if -constant_extent(lane) % lanes > constant_extent(lane) // GEMM_COSTS.idle_lane_fraction or (
        joined and sharers < GEMM_COSTS.collapsed_lane_rows
    ):
        return NoMatch("many lanes would have nothing to do, or few rows share the panel")
    across = panel.stride(lane.var) != 1 and (
        sharers >= GEMM_COSTS.block_rows or _saves_sums(nest, lane, width, sharers)
    )
    if not rows or not (
        across or (sharers >= GEMM_COSTS.packing_rows and _is_large(builder, nest, panel, lane, sharers))
    ):
        return NoMatch("few rows share the panel, or it stays in the cache as it is")
    row = max(reversed(rows), key=lambda n: min(constant_extent(n), GEMM_COSTS.block_rows))
    # Registers of rows are loaded whole.
    tall = (
        height
        if _by_element(builder) and constant_extent(row) >= GEMM_COSTS.block_rows
        else height_of(constant_extent(row), height)
    )
    return _Contraction(nest, lane, row, panel, width, tall)


def _saves_sums(nest: Nest, lane: For, width: int, rows: int) -> bool:
    """Few rows: adding up the lanes of each sum takes longer than packing. The former costs as much
    as some hundred terms, the latter as much as some rows; whole panels alone are packed so fast.
    """
    return (
        _lane_waste(lane, width) == 0
        and prod(map(constant_extent, nest.reduction)) <= GEMM_COSTS.lane_sum_terms * rows
    )


def _lane_waste(lane: For, width: int) -> int:
    """How many lanes of the last tile have nothing to do."""
    return -constant_extent(lane) % width


def _is_large(builder: ScheduleBuilder, nest: Nest, panel: Access, lane: For, rows: int) -> bool:
    """The operand does not stay near, so that its rows, which lie apart, come from further away for
    each row of tiles; or rows that share it are so many that a copy, whose registers are lines of
    memory, pays where loads that cross them are dear.

    What other nests have just made, or an earlier iteration of a recurrence has read, is in the
    second cache at least.
    """
    used = prod(constant_extent(n) for n in (*nest.reduction, lane) if panel.stride(n.var) != 0)
    nearest, crossings = next(iter(builder.machine.caches), 0), builder.machine.split_load_cost
    made_before = nest.outer or nest.enclosing_loops
    if (
        crossings > 1
        and rows >= GEMM_COSTS.unrolled_pair_rows
        and not made_before
        and all(panel.stride(n.var) == 0 for n in nest.spatial if n is not lane)
    ):
        return True
    if bytes_of(panel.tensor) <= crossings * nearest:
        nearest *= crossings  # copying takes longer than tiles of few registers and many rows wait
    near = builder.l2_budget if made_before or _streams(builder, nest, panel) else nearest
    return used * panel.tensor.dtype.bytes > near


def _streams(builder: ScheduleBuilder, nest: Nest, panel: Access) -> bool:
    """Whether a core fetches rows of the operand from its second cache faster than it multiplies,
    with nothing else to wait for: vectors are lines of memory, those of other rows lie in other
    places of the first cache, the other operand does not come from memory, and a vector times a
    value of it is one instruction, which needs no copies of either.
    """
    steps = [(panel.stride(n.var) or 0) * panel.tensor.dtype.bytes for n in nest.reduction]
    whole = (
        all(step % LINE == 0 and step % ALIAS for step in steps)
        and panel.tensor.dtype == nest.main.tensor.dtype
    )
    others = [a for a in nest.accesses[1:] if a is not panel]
    by_lines = builder.machine.split_load_cost == 1 and whole and not _by_element(builder)
    return (
        by_lines
        and len(others) == 1
        and not builder.exceeds_l2(nest, others[0])
        and others[0].stride(nest.reduction[-1].var) == 1
    )


def _places(nest: Nest, panel: Access) -> int:
    """How many rows of the other operand a first cache has places for beside the panel: few of
    those a multiple of `ALIAS` apart.
    """
    term = nest.reduction[-1].var
    in_place = [a for a in nest.accesses[1:] if a is not panel and a.stride(term) in (0, 1)]
    apart = [
        (a.stride(n.var) or 1) * a.tensor.dtype.bytes
        for a in in_place
        for n in nest.spatial
        if panel.stride(n.var) == 0
    ]
    return WAYS - 2 if any(step % ALIAS == 0 for step in apart) else UNBOUNDED


def tile_of(
    builder: ScheduleBuilder,
    size: int,
    lanes: int,
    places: int = UNBOUNDED,
    rows: int = 0,
    across: bool = False,
    whole: bool = False,
) -> tuple[int, int]:
    """Width and height of a tile: its sums, a row of the panel and a value for all lanes fit the
    registers.

    Three vectors load least per product; two or four where less is left over, or where a first
    cache has `places` for few rows alone.

    Args:
        rows: how many there are, where tiles of another height may leave fewer over; 0 if that is
            not known.
        across: neighbouring lanes lie apart: of whole tiles of them squares are turned in
            registers, which is fast.
        whole: sums are of whole numbers: a product takes a register of its own before it is added.
    """
    if across and size == lanes:
        return lanes, min(
            GEMM_COSTS.single_register_rows, builder.machine.vector_registers - GEMM_COSTS.spare_registers
        )
    if builder.machine.vector_registers < 32:
        return 2 * lanes, 4 if builder.machine.has_indexed_fma else 5 if whole else 6
    # Where rows take registers too, four vectors of few rows load more than two of many.
    tiles = (
        [(3, 8), (2, 12)]
        if builder.machine.has_indexed_fma
        else [(3, 8), (4, 6), (2, 12 if places >= 12 else WAYS), (2, WAYS)]
    )

    def cost(tile: tuple[int, int]) -> float:
        n, height = tile
        computed = -(-size // (n * lanes)) * n
        if rows >= GEMM_COSTS.block_rows and not builder.machine.has_indexed_fma:
            tall = height_of(rows, height)
            computed *= -(-rows // tall) * tall / rows
        if across and size % (n * lanes):
            computed *= 1 + GEMM_COSTS.ragged_panel_penalty
        if builder.machine.split_load_cost > 1:
            return computed * (
                1 + _loads(-(-size // lanes), n, height) + GEMM_COSTS.l1_conflict_penalty * (height > places)
            )
        return computed * (
            1
            + GEMM_COSTS.packed_width_penalty * abs(n - 3)
            + GEMM_COSTS.few_sums_penalty * (n * height < GEMM_COSTS.few_sums)
            + GEMM_COSTS.l1_conflict_penalty * (height > places)
        )

    vectors, height = min(tiles, key=cost)
    return vectors * lanes, height


def height_of(rows: int, most: int) -> int:
    """As tall as fits, or a little less where nothing is left over; of few rows, as many at a
    time as leave the fewest over.
    """
    if rows < GEMM_COSTS.block_rows:
        return max(range(most // 2, most + 1), key=lambda n: (-(rows % n), n))
    return next((n for n in range(most, most - most // 8 - 1, -1) if rows % n == 0), most)


def product_tile(builder: ScheduleBuilder, nest: Nest, lane: For, row: For, lanes: int) -> tuple[int, int]:
    """Registers beside each other and rows of a tile of a product that is not packed: such that the
    core that has most rows has few; of equal ones the tile of more rows, for which less of the
    panel comes from the second cache.
    """
    registers, rows, vectors = (
        builder.machine.vector_registers,
        constant_extent(row),
        -(-constant_extent(lane) // lanes),
    )
    if nest.outer or nest.enclosing_loops:
        width, height = tile_of(builder, constant_extent(lane), lanes)
        return width // lanes, height_of(rows, height)
    cores = builder.machine.cores if nest.spatial[0] is row else 1

    def cost(tile: tuple[int, int]) -> float:
        n, height = tile
        tiles = -(-rows // height)
        busiest = -(-tiles // cores) * height * cores
        uneven = GEMM_COSTS.remainder_tile_penalty * (vectors % n != 0)
        if builder.machine.split_load_cost > 1:
            return busiest * (1 + uneven + _loads(vectors, n, height, builder.machine.split_load_cost))
        return busiest * (1 + uneven + GEMM_COSTS.tile_shape_penalty * (max(0, height - WAYS) + abs(n - 3)))

    tiles = [
        (n, h) for n in (3, 2, 4) for h in range((registers - 1) // n - 1, GEMM_COSTS.tile_sums // n - 1, -1)
    ]
    return min(tiles, key=cost)


def _loads(vectors: int, n: int, height: int, each: int = 1) -> float:
    """What loads cost beside products, if rows of `vectors` registers have tiles of `n`, and one
    of the panel counts as `each`.
    """
    return GEMM_COSTS.load_cost * (-(-vectors // n) / vectors / 3 + each / height)


def _scheduled(builder: ScheduleBuilder, c: _Contraction) -> Scheduled | NoMatch:
    nest = c.nest
    others = [n for n in nest.spatial if n is not c.vector_loop and n is not c.row_loop]
    alone = handles(n for n in others if c.packed_operand.stride(n.var) != 0)
    sharing = handles(n for n in others if c.packed_operand.stride(n.var) == 0)
    scattered = [a for a in nest.accesses[1:] if a is not c.packed_operand and _scattered(c, a)]
    tiles = -(-constant_extent(c.vector_loop) // c.width)
    blocks = _blocks(builder, c, tiles)
    alone_in_nest = not nest.outer and all(constant_extent(n) == 1 for n in others)
    uneven = is_uneven(builder.machine.cores, tiles, blocks)
    by_rows = alone_in_nest and (bool(scattered) or uneven)
    by_others = None if nest.outer or by_rows or not uneven else used_again(builder, c.packed_operand, others)
    deep, shallow = _depths(builder, c)
    lane_tiles, lane = _cut_lanes(builder, c)
    lane_blocks, lane_tiles = builder.split(lane_tiles, -(-tiles // blocks), tail="clip")
    outer = [*alone, lane_blocks]
    any_length_lanes = bool(builder.machine.scalable_bytes)
    tiles_of = (lane_tiles, lane, *shallow) if any_length_lanes else (lane_tiles, *shallow, lane)
    builder.apply("reorder", *outer, *deep, c.row_loop, *sharing, *tiles_of)
    copied = pack(
        builder, c.packed_operand, (outer + deep)[-1], c.vector_loop, c.width, c.sums, _belongs_to(c, lane)
    )
    if copied is None:
        return NoMatch("the operand has no dimension for its lanes, or cannot be copied")
    left = constant_extent(c.row_loop) % c.height
    filled = (
        any_length_lanes
        and left
        and c.height - left <= constant_extent(c.row_loop) // GEMM_COSTS.filled_tiles
        and _packs_rows(c, scattered)
    )
    # A tile that begins earlier would have rows of two panels, each with an address of its own.
    tail = ("pad" if filled else "peel") if deep or by_rows or scattered else "overlap"
    row_blocks, row_tiles, row = _cut_rows(builder, c, by_rows, tail)
    inside = [*sharing, *row_tiles, lane_tiles]
    of_tile = (lane, *shallow, row) if any_length_lanes else (*shallow, row, lane)
    builder.apply("reorder", *row_blocks, *inside, *of_tile)
    beside, late = _pack_row_operand(builder, c, scattered, row_tiles, (row_blocks or outer + deep)[-1], row)
    _pair_terms(builder, c, beside, shallow, left if tail == "peel" else 0)
    if deep:
        accumulate_in_registers(builder, nest, lane, [lane] if any_length_lanes else inside[::-1])
    _finish_tile(builder, late, row_tiles, row, lane)
    shared = row_blocks or list(filter(None, [by_others]))
    if not shared:
        return Scheduled(outer)
    builder.try_apply("parallel", copied.outermost)
    return Scheduled(shared)


def _pair_terms(
    builder: ScheduleBuilder, c: _Contraction, beside: list[Tensor], shallow: list[LoopHandle], left: int
) -> None:
    """Several terms of each sum together, where that saves loads.

    Args:
        left: rows that are left over of the tiles.
    """
    if builder.machine.scalable_bytes:
        if beside and shallow:
            any_length.terms_together(builder, shallow[-1], left)
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
) -> None:
    """Rows written out, lanes as vectors; operands that come late are asked for a tile of rows ahead."""
    for tensor in late:
        builder.try_apply("prefetch", tensor, row_tiles[0], 1)
    builder.try_apply("unroll", row)
    if builder.machine.scalable_bytes:
        builder.try_apply("vectorize_scalable", lane, any_length.TILE)
    else:
        builder.try_apply("vectorize", lane)


def _pack_row_operand(
    builder: ScheduleBuilder,
    c: _Contraction,
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
            panels := pack(builder, a, at, c.row_loop, c.height, c.sums, _belongs_to(c, row))
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


def _belongs_to(c: _Contraction, loop: LoopHandle) -> LoopHandle | None:
    """The loop along which an operand is read, where both are one tensor; else None."""
    return loop if sum(a.tensor is c.packed_operand.tensor for a in c.nest.accesses[1:]) > 1 else None


def _cut_lanes(builder: ScheduleBuilder, c: _Contraction) -> tuple[LoopHandle, LoopHandle]:
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
    builder: ScheduleBuilder, c: _Contraction, by_rows: bool, tail: str
) -> tuple[list[LoopHandle], list[LoopHandle], LoopHandle]:
    """The loops over blocks of rows, if there are any, over their tiles, if there are several, and
    over the rows.
    """
    tiles, row = builder.split_if_longer(c.row_loop, c.height, tail)
    if not tiles or not by_rows:
        return [], [tiles] if tiles else [], row
    blocks, tiles = builder.split_if_longer(
        tiles, _tiles_of_a_block(builder, constant_extent(c.row_loop), c.height), "clip"
    )
    return [blocks] if blocks else [], [tiles], row


def _lane_tail(builder: ScheduleBuilder, c: _Contraction) -> str:
    """What is left over of many tiles is filled up with zeros: one kind of tile is all there is. So
    is what parts of registers would hold, if these are more than a tile has and constants take
    registers too, or there are not so many for as many rows.
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
    filled = _lane_waste(c.vector_loop, c.width) <= size // GEMM_COSTS.filled_tiles
    return "pad" if ragged or filled else "peel"


def _blocks(builder: ScheduleBuilder, c: _Contraction, tiles: int) -> int:
    """How many blocks of lanes there are. Half of the second cache holds a block once packed;
    blocks may be half as large, as rows come again for each of them, where no core then has many
    more tiles than others. Where these and all of the panel stay in the second cache, and loads are
    dear, blocks are small, which are found there while they are warm.
    """
    nearby, cores = builder.machine.caches[:2][-1], builder.machine.cores
    depth = min(
        _most_terms(builder, c),
        prod(constant_extent(n) for n in c.nest.reduction if c.packed_operand.stride(n.var) != 0),
    )
    tile = depth * _packed_bytes(c) * c.width
    warm = builder.machine.split_load_cost > 1 and not any(
        builder.exceeds_l2(c.nest, a) for a in c.nest.accesses[1:]
    )
    fraction, least_tiles = (GEMM_COSTS.small_block_l2_fraction, 1) if warm else (2, 2)
    most = max(least_tiles, round(nearby / fraction / tile))
    if tiles <= most:
        return 1
    busiest = {n: busiest_of(tiles, n, cores) for n in range((most + 1) // 2, most + 1)}
    least = min(busiest.values())
    across = c.packed_operand.stride(c.vector_loop.var) != 1
    parts = GEMM_COSTS.uneven_block_fraction
    fair = [n for n in busiest if busiest[n] * parts <= least * (parts + 1)]
    return -(
        -tiles // max(fair, key=lambda n: (across and tiles % n == 0, n))
    )  # whole blocks of what lies across are turned fast


def _widened(builder: ScheduleBuilder, access: Access, at: LoopHandle, sums: DType) -> None:
    """A tile of rows in the type of the sums; rows begin in different sets of the first cache."""
    if (buffer := builder.try_new_buffer("cache_read", access.tensor, at, dtype=sums.name)) is not None:
        _, lane = builder.split_if_longer(
            copy_loop(buffer, buffer.rank - 1), builder.machine.vector_bytes // sums.bytes * 4, "peel"
        )
        builder.try_apply("vectorize", lane)
        builder.try_apply("pad", buffer, buffer.rank - 1, LINE // sums.bytes, extra=LINE // sums.bytes)


def _by_lanes(builder: ScheduleBuilder, c: _Contraction, access: Access, at: LoopHandle) -> Tensor | None:
    """Copy a tile of rows for products that take one element of a register; the copy, None where
    that does not pay or is not possible.
    """
    along = access.moving(c.row_loop.var)
    if (
        not _by_element(builder)
        or len(along) != 1
        or not _is_shared(c)
        or not c.sums.is_float
        or (buffer := copy_operand(builder, access, at, c.sums)) is None
    ):
        return None
    rows_beside(builder, buffer, along[0])
    return builder.current_buffer(buffer)


def _is_shared(c: _Contraction) -> bool:
    """Whether so many tiles of lanes use a tile of rows that a copy of it pays."""
    return constant_extent(c.vector_loop) >= GEMM_COSTS.indexed_row_tiles * c.width


def _packs_rows(c: _Contraction, scattered: list[Access]) -> bool:
    """Whether a copy of rows may end in zeros: where they are read in place, each term would ask
    whether its row is there.
    """
    return (
        _is_shared(c)
        and c.sums.is_float
        or all(a in scattered for a in c.nest.accesses[1:] if a is not c.packed_operand)
    )


def _by_element(builder: ScheduleBuilder) -> bool:
    """Whether products take one element of a register: of parts of 128 bits where registers have
    any length.
    """
    return builder.machine.has_indexed_fma or builder.machine.scalable_bytes > 0


def _scattered(c: _Contraction, access: Access) -> bool:
    """Terms of one sum that lie apart: a tile would touch as many lines of memory as it has
    terms.
    """
    return access.stride(c.nest.reduction[-1].var) not in (0, 1) and access.stride(c.row_loop.var) != 0


def _exceeds_l2(builder: ScheduleBuilder, c: _Contraction, access: Access) -> bool:
    """Whether rows are short runs of memory, which no hardware foresees, so that a tile had better
    ask for the rows of the next one. Not where those would push its own out of the first cache, nor
    where two products begin in a cycle: requests take the places of loads then.
    """
    terms, step = c.nest.reduction[-1], access.stride(c.row_loop.var) or 0
    runs = access.stride(terms.var) == 1 and step >= constant_extent(terms)
    idle = builder.machine.fma_per_cycle == 1
    return (
        idle and runs and step * access.tensor.dtype.bytes % ALIAS != 0 and builder.exceeds_l2(c.nest, access)
    )


def _most_terms(builder: ScheduleBuilder, c: _Contraction) -> int:
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


def _packed_bytes(c: _Contraction) -> int:
    """Of an element of the panel once it is packed."""
    return max(c.packed_operand.tensor.dtype.bytes, c.sums.bytes if c.sums.is_float else 1)


def _depths(builder: ScheduleBuilder, c: _Contraction) -> tuple[list[LoopHandle], list[LoopHandle]]:
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


def _tiles_of_a_block(builder: ScheduleBuilder, rows: int, height: int) -> int:
    """As many tiles as let each core have the same number of blocks, two at least, of
    `block_rows` to `most_block_rows`.
    """
    cores = builder.machine.cores
    rounds = max(2, -(-rows // (GEMM_COSTS.most_block_rows * cores)))
    blocks = max(1, min(rounds * cores, rows // GEMM_COSTS.block_rows))
    return -(-(rows // height) // blocks)
