"""Contractions that an instruction sums in registers of tiles: 16 rows times 16 columns, over as
many terms as rows of 64 bytes have.

Both operands are packed as tiles: of the left one rows of terms, of the right one groups of terms
of all columns beside each other. Sums begin and end in tiles, then go to a small buffer, from which
the operator takes them; of many terms they wait elsewhere for each next block of terms. Tiles are
filled up with zeros in all three directions: to sums that start at 0 these add nothing. What
instructions do is in `ir.instructions`.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008, for
blocks and panels.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handles
from texpr.autoschedule.core.layouts import dimension_names
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
from texpr.autoschedule.cpu.gemm.packing import permission
from texpr.autoschedule.cpu.gemm.work_split import whole_rounds
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.instructions import meaning
from texpr.ir.loop import For, Kernel
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import private_copies
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen

SIDE = 16
"""Rows and columns of a tile of sums (Intel SDM, AMX: a tile register has 16 rows of 64 bytes)."""
ROW_BYTES = 64
"""Bytes of a row of a tile register (same source)."""
COLUMN_BYTES = 4
"""Bytes of a group of terms, which are added to one sum (Intel SDM, `TDPBF16PS`, `TDPBSSD`)."""
HIGH, WIDE = 2, 2
"""Tiles of sums, rows of them and columns, that are added to with as many of the left operand
and of the right one: all eight tile registers.
"""


@frozen
class _Tiles:
    """The parts of such a contraction.

    Attributes:
        row, lane, term: loops along the rows of the result, along its columns, and over the terms.
        left, right: the reads that move with `row` and with `lane`.
        others: loops around, with which both reads may move.
        group: terms in a column of a tile.
    """

    nest: Nest
    instruction: str
    row: For
    lane: For
    term: For
    left: Access
    right: Access
    others: list[For]
    group: int

    @property
    def of_sums(self) -> tuple[int, int]:
        """The dimensions of the sums along rows and columns."""
        return _dimension(self.nest.accesses[0], self.row), _dimension(self.nest.accesses[0], self.lane)

    @property
    def terms(self) -> int:
        """Terms of a tile."""
        return self.group * ROW_BYTES // COLUMN_BYTES


class TileRegisters:
    """Contractions whose sums stay in registers of tiles (AMX)."""

    name, stage = "TileRegisters", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Tiles | NoMatch:
        """The parts of the nest."""
        return _tiles(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Tiles) -> Scheduled:
        """The steps."""
        return Scheduled(_scheduled(builder, match))


def _tiles(builder: ScheduleBuilder, nest: Nest) -> _Tiles | NoMatch:
    if not nest.reduction:
        return NO_REDUCTION
    if not builder.machine.tile_registers:
        return NoMatch("the machine has no registers of tiles")
    if (
        nest.outer
        or nest.enclosing_loops
        or nest.recurrent
        or nest.main.update != "add"
        or len(nest.reduction) != 1
        or len(nest.accesses) != 3
    ):
        return NOT_A_PRODUCT
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    target, term = nest.accesses[0], nest.reduction[0]
    lane = nest.contiguous()
    right = next((a for a in nest.accesses[1:] if lane is not None and a.stride(lane.var)), None)
    if lane is None or right is None:
        return NoMatch("no operand moves along the columns")
    left = next(a for a in nest.accesses[1:] if a is not right)
    rows = [n for n in nest.spatial if left.stride(n.var) and right.stride(n.var) == 0]
    row = max(rows, key=constant_extent, default=None)
    if row is None or left.stride(lane.var) != 0 or 0 in (left.stride(term.var), right.stride(term.var)):
        return NoMatch("no operand for the rows alone, or one that terms do not move")
    instruction = _instruction(builder, left, right, target)
    if instruction is None or not all(
        _is_matrix(a, (along, term)) for a, along in ((left, row), (right, lane))
    ):
        return NoMatch("no instruction multiplies tiles of these types, or operands are no matrices")
    others = [n for n in nest.spatial if n is not row and n is not lane]
    found = _Tiles(
        nest, instruction, row, lane, term, left, right, others, COLUMN_BYTES // left.tensor.dtype.bytes
    )
    return found if _fills(found) else NoMatch("tiles would be mostly filling")


def _instruction(builder: ScheduleBuilder, *operands: Access) -> str | None:
    """The instruction that multiplies tiles of these types; None if the machine has none."""
    types = [a.tensor.dtype for a in operands]
    for name in sorted(builder.machine.instructions - builder.machine.unprofitable_instructions):
        does = meaning(name)
        if (
            len(does.inputs) == 2
            and all(t.rank == 3 for t in does.inputs)
            and [t.dtype for t in (*does.inputs, *does.outputs)] == types
        ):
            return name
    return None


def _is_matrix(a: Access, loops: tuple[For, For]) -> bool:
    """True if the loops move along a dimension of the tensor each, alone."""
    along = [[d for d, i in enumerate(a.indices) if loop.var in variables(i)] for loop in loops]
    return all(len(ds) == 1 for ds in along) and along[0] != along[1]


def _fills(t: _Tiles) -> bool:
    """True if most of the tiles' elements are no padding."""
    extents = [
        (constant_extent(t.row), HIGH * SIDE),
        (constant_extent(t.lane), WIDE * SIDE),
        (constant_extent(t.term), t.terms),
    ]
    if min(extents[0][0], extents[1][0]) < GEMM_COSTS.tile_register_side:
        return False
    return prod(n for n, _ in extents) >= GEMM_COSTS.tile_fill_share * prod(
        -(-n // tile) * tile for n, tile in extents
    )


@frozen
class _Move:
    """Rows of a tile that an instruction loads, stores or sets to zero.

    Attributes:
        buffer: the name of the tile.
        loop: over its rows.
    """

    buffer: str
    loop: LoopHandle
    instruction: str


_Layouts = list[tuple[str, str]]
"""Names of buffers with their layouts, which come last: only then are indices sums of tiles and
places in them.
"""


def _scheduled(builder: ScheduleBuilder, t: _Tiles) -> list[LoopHandle]:
    """Panels of the right operand stay in the second cache, a few rows of the left one in the
    first, the sums in registers.
    """
    lane_tiles, lane = builder.split(t.lane, WIDE * SIDE, tail="pad")
    row_tiles, row = builder.split(t.row, HIGH * SIDE, tail="pad")
    terms, term = builder.split(t.term, t.terms, tail="pad")
    tiles = constant_extent(builder.loop(lane_tiles))
    blocks, lane_tiles = builder.split(lane_tiles, -(-tiles // _blocks(builder, t, tiles)), tail="clip")
    deep, terms = _term_blocks(builder, terms)
    shared = [*handles(t.others), blocks]
    builder.apply("reorder", *shared, row_tiles, *deep, lane_tiles, terms, row, lane, term)
    layouts: _Layouts = []
    right, left = (
        _packed(builder, t, a, at, along, layouts)
        for a, at, along in ((t.right, blocks, t.lane), (t.left, row_tiles, t.row))
    )
    groups, term = builder.split(term, t.group, tail="exact")
    rows, row = builder.split(row, SIDE, tail="exact")
    lanes, lane = builder.split(lane, SIDE, tail="exact")
    builder.apply("reorder", terms, rows, lanes, row, lane, groups, term)
    moves = _operands(builder, t, left, right, terms, layouts)
    in_tiles = [move.buffer for move in moves]
    sums = t.nest.main.tensor
    if deep:
        moves += _in_blocks(builder, t, _SumLoops(deep[0], lane_tiles, rows, row), in_tiles, layouts)
    else:
        moves += [_stored(builder, t, rows, sums.name), _Move(sums.name, row, f"tilezero_{sums.dtype}")]
        in_tiles.append(sums.name)
    layouts.append((sums.name, _form(sums, *t.of_sums, SIDE)))
    for each in (rows, lanes):
        builder.try_apply("unroll", each)
    for buffer, form in layouts:
        builder.apply("layout", buffer, form)
    for each in in_tiles:
        builder.apply("set_scope", each, "tile")
    for move in moves:
        builder.apply("tensorize", move.loop, move.instruction)
    builder.apply("tensorize", row, t.instruction, **permission(t.instruction))
    builder.try_apply("vectorize", lane)  # of what no instruction runs
    return shared


def _term_blocks(builder: ScheduleBuilder, terms: LoopHandle) -> tuple[list[LoopHandle], LoopHandle]:
    """The loop over blocks of terms, if there are several, and the one over tiles of a block: rows
    of so many of the left operand stay in the first cache while tiles of the right one come from
    the second.
    """
    count = constant_extent(builder.loop(terms))
    room = next(iter(builder.machine.caches), 0) // GEMM_COSTS.tile_rows_l1_fraction
    most = max(1, room // (HIGH * SIDE * ROW_BYTES))
    cut = builder.try_split(terms, even(count, most), tail="clip") if count > most else None
    return ([], terms) if cut is None else ([cut[0]], cut[1])


def _blocks(builder: ScheduleBuilder, t: _Tiles, tiles: int) -> int:
    """Number of blocks of columns, each of which half of the second cache holds once packed: as
    many for each core.
    """
    most = max(1, builder.l2_budget // (constant_extent(t.term) * t.right.tensor.dtype.bytes * WIDE * SIDE))
    return whole_rounds(builder.machine.cores, tiles, most)


def _dimension(a: Access, loop: For) -> int:
    return next(d for d, i in enumerate(a.indices) if loop.var in variables(i))


def _form(buffer: Tensor, along: int, term: int, group: int) -> str:
    """A layout in tiles: `group` terms beside each other, for all rows of a tile."""
    names = dimension_names(buffer)
    i, k = names[along], names[term]
    rest = "".join(f"{n} " for n in names if n not in (i, k))
    return f"{' '.join(names)} -> {rest}{i}/{SIDE} {k}/{group} {i}%{SIDE} {k}%{group}"


def _in_pairs(buffer: Tensor, groups: int) -> str:
    """A layout of panels, such that the tiles that are loaded together follow each other."""
    names = dimension_names(buffer) + "yz"
    *rest, panel, term, row, group = names[: buffer.rank + 2]
    outer, inner = (f"{term}/{groups}", f" {term}%{groups}") if groups > 1 else (term, "")
    together = f"{panel}/{WIDE} {outer} {panel}%{WIDE}{inner}"
    return (
        f"{' '.join([*rest, panel, term, row, group])} -> {''.join(r + ' ' for r in rest)}{together} {row} "
        f"{group}"
    )


def _packed(
    builder: ScheduleBuilder, t: _Tiles, a: Access, at: LoopHandle, along: For, layouts: _Layouts
) -> Tensor:
    """Copy what is read as tiles; the buffer."""
    buffer = builder.new_buffer("cache_read", a.tensor, at)
    d, e = _dimension(a, along), _dimension(a, t.term)
    group = t.terms if a is t.left else t.group
    panels, lane = builder.split(copy_loop(buffer, d), SIDE, tail="exact")
    groups, term = builder.split(copy_loop(buffer, e), group, tail="exact")
    far = bytes_of(a.tensor) > builder.l2_budget and a.stride((t.term if a is t.left else along).var) == 1
    if a is t.left:
        builder.try_apply("reorder", panels, lane, groups, term)
        builder.try_apply("vectorize", term)
        if (
            0
            < constant_extent(t.term) - (constant_extent(builder.loop(groups)) - 1) * t.terms
            < min(t.terms, constant_extent(t.term))
        ):
            builder.try_apply("peel", groups, 0, 1)  # the last tile alone asks where rows end
        asking = lane, GEMM_COSTS.prefetch_rows
    else:
        builder.try_apply("reorder", groups, panels, lane, term)
        asking = groups, GEMM_COSTS.prefetch_groups
        if a.stride(along.var) == 1:  # rows of terms are woven
            builder.try_apply("unroll", term)
            builder.try_apply("vectorize", lane)
        else:
            builder.try_apply("vectorize", term)
    if far:
        builder.try_apply("prefetch", a.tensor, *asking)
    layouts.append((buffer.name, _form(buffer, d, e, group)))
    layouts.append((buffer.name, _in_pairs(buffer, t.terms // group)))
    return buffer


def _operands(
    builder: ScheduleBuilder, t: _Tiles, left: Tensor, right: Tensor, terms: LoopHandle, layouts: _Layouts
) -> list[_Move]:
    """Tiles of both operands, those from the first cache in turns with those from the second
    one, which take longer.
    """
    near, tiles_of_rows = _loaded(builder, t, left, t.left, t.row, terms, layouts)
    far, tiles_of_lanes = _loaded(builder, t, right, t.right, t.lane, terms, layouts)
    joined = builder.try_apply("merge", tiles_of_lanes, tiles_of_rows)
    for each in (tiles_of_lanes,) if joined else (tiles_of_lanes, tiles_of_rows):
        builder.try_apply("unroll", each)
    return [near, far]


def _loaded(
    builder: ScheduleBuilder,
    t: _Tiles,
    buffer: Tensor,
    a: Access,
    along: For,
    terms: LoopHandle,
    layouts: _Layouts,
) -> tuple[_Move, LoopHandle]:
    """Tiles of an operand from its packed copy, and the loop over tiles."""
    tiles = builder.new_buffer("cache_read", buffer, terms)
    d, e = _dimension(a, along), _dimension(a, t.term)
    name = f"tileloadd_{'' if a is t.left else 'groups_'}{a.tensor.dtype}"
    outer, row = builder.split(copy_loop(tiles, d), SIDE, tail="exact")
    term = copy_loop(tiles, e)
    if a is t.right:
        groups, term = builder.split(term, t.group, tail="exact")
        order = [groups, row]
    else:
        order = [row]
    builder.try_apply("reorder", outer, *order, term)
    layouts.append((tiles.name, _form(tiles, d, e, t.terms if a is t.left else t.group)))
    return _Move(tiles.name, order[0], name), outer


def _stored(builder: ScheduleBuilder, t: _Tiles, rows: LoopHandle, sums: str) -> _Move:
    """The path of sums out of tiles: they go to a buffer, from which elements are computed."""
    buffer = builder.new_buffer("cache_read", sums, rows)
    return _Move(buffer.name, _as_tiles(builder, t, buffer), f"tilestored_{t.nest.main.tensor.dtype}")


@frozen
class _SumLoops:
    """Loops around sums that blocks of terms are added to.

    Attributes:
        blocks: over blocks of terms.
        columns: over tiles of columns.
        rows: over tiles of rows.
        row: over the rows of a tile.
    """

    blocks: LoopHandle
    columns: LoopHandle
    rows: LoopHandle
    row: LoopHandle


def _in_blocks(
    builder: ScheduleBuilder, t: _Tiles, loops: _SumLoops, in_tiles: list[str], layouts: _Layouts
) -> list[_Move]:
    """Sums that begin in tiles with the first block of terms, are taken up again by each of the
    others, and are used after the last one.

    Args:
        in_tiles: names of buffers that are tiles; those of what is peeled, and of the sums, are
            added.
    """
    count = constant_extent(builder.loop(loops.blocks))
    copies = _private_to_ends(builder.kernel, builder.loop(loops.blocks))
    builder.apply("peel", loops.blocks, 1, 1)
    builder.apply("merge", loops.columns, loops.columns)
    used = {b.name for b in builder.kernel.temporaries}
    peeled = [(name, one) for name, one in copies if one in in_tiles and name in used]
    layouts += [(name, form) for name, one in peeled for tile, form in tuple(layouts) if tile == one]
    in_tiles += [name for name, _ in peeled]
    last = min(count, 3) - 1
    kept = [_kept(builder, t, loops.columns, layouts, last=k == last) for k in range(last + 1)]
    in_tiles += [taken.buffer for taken, _ in kept]
    # Nothing is fetched for the first block, and nothing put back after the last one.
    (_, put), *more, (got, _) = kept
    stored, sums = _stored(builder, t, loops.rows, got.buffer), t.nest.main.tensor
    begin = _Move(sums.name, loops.row, f"tilezero_{sums.dtype}")
    return [put, *(each for both in more for each in both), got, stored, begin]


def _private_to_ends(kernel: Kernel, loop: For) -> list[tuple[str, str]]:
    """Buffers that the first and the last iterations of a loop have for themselves once it is peeled,
    each with the one that it stands for.
    """
    ends = (private_copies(kernel, loop, end) for end in ("first", "last"))
    return [(copy.name, buffer.name) for copies in ends for buffer, copy in copies.items()]


def _kept(
    builder: ScheduleBuilder, t: _Tiles, lane_tiles: LoopHandle, layouts: _Layouts, *, last: bool
) -> tuple[_Move, _Move]:
    """Sums of a block of terms are in tiles, and go to a buffer until the next block is added;
    not those of the last one. They are loaded, and stored.
    """
    total = t.nest.main.tensor
    buffer = builder.new_buffer("cache_write", total, lane_tiles, **({"out": False} if last else {}))
    row = _as_tiles(builder, t, buffer)
    layouts.append((buffer.name, _form(buffer, *t.of_sums, SIDE)))
    return _Move(buffer.name, row, f"tileloadd_{total.dtype}"), _Move(
        buffer.name, row, f"tilestored_{total.dtype}"
    )


def _as_tiles(builder: ScheduleBuilder, t: _Tiles, buffer: Tensor) -> LoopHandle:
    """Copies of sums by tiles; the loop over the rows of one."""
    rows, columns = (copy_loop(buffer, d) for d in t.of_sums)
    outer, row = builder.split_if_longer(rows, SIDE, "exact")
    lanes, lane = builder.split(columns, SIDE, tail="exact")
    loops = list(filter(None, (outer, lanes)))
    builder.try_apply("reorder", *loops, row, lane)
    for each in loops:
        builder.try_apply("unroll", each)
    return row
