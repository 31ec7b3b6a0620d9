"""Contractions by warpgroups: 128 threads multiply 64 rows by up to 256 columns of bf16, f16 or
floats of 8 bits, in shared memory.

A block has one or two warpgroups with rows of their own and the columns in common. Products of 64
terms, of 128 where an element is a byte, are begun together and go on while the next ones begin;
copies fill as many buffers as blocks that fit a processor by their registers have memory for: boxes
that are moved as a whole, where tensors and loops are such that they can be. Operands lie in rows
of so many terms, or, where a tensor has neighbours along rows or columns in place of terms, in
panels of as many of these: the instruction turns them, unless elements are bytes. What becomes of a
sum is computed by the thread that has it. Where blocks walk over all tiles, two with neighbouring
tiles are a cluster, each of which copies a half of the operand that both want. Convolutions with
channels last have rows along positions, or along images where these are many.

Source: Lam, Software Pipelining: An Effective Scheduling Technique for VLIW Machines, PLDI 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.contraction import Contraction, contraction, filling
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.persistent_grid import Way, at_once, order_of_rounds
from texpr.autoschedule.gpu.row_reduction import VECTOR_BYTES, fuse_known
from texpr.autoschedule.gpu.shared_memory import (
    LEAST_ASYNC_COPY,
    NOT_ON_BLOCKS,
    ROW,
    in_rows,
    neighbours,
    tiles_on_blocks,
)
from texpr.ir.build import integer
from texpr.ir.expr import Select, Tensor
from texpr.ir.loop import For
from texpr.ir.traverse import variables, walk
from texpr.schedule.analysis.access import Access, unclamped
from texpr.schedule.analysis.occupancy import resident
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen, replace

THREADS = 128
"""Threads of a warpgroup."""
ROWS = 64
"""Rows of a warpgroup's instructions (PTX ISA, `wgmma`)."""
DEEP = 32
"""Bytes of the terms of an instruction."""
TILES = ((2, 256), (2, 128), (1, 256), (2, 64), (1, 128), (1, 64))
"""Warpgroups and columns of a block, from the most that operands are read for once to the least."""


@frozen
class _Tile:
    """The tile that a block computes at a time.

    Attributes:
        groups: warpgroups.
        columns: of the tile.
        instruction: that multiplies.
        left_turned, right_turned: True if the instruction turns the operand.
        size: bytes of an element of the operands.
    """

    groups: int
    columns: int
    instruction: str
    left_turned: bool
    right_turned: bool
    size: int

    @property
    def registers(self) -> int:
        """Of a thread, about."""
        return ROWS * self.columns // THREADS + GPU_COSTS.other_registers

    @property
    def threads(self) -> tuple[int, ...]:
        """Along y and x."""
        return (self.groups, THREADS) if self.groups > 1 else (THREADS,)


class WarpgroupGemm:
    """Contractions by warpgroups, which multiply what lies in shared memory (`wgmma`)."""

    name, stage = "WarpgroupGemm", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> tuple[Contraction, _Tile] | NoMatch:
        """The parts of the nest, and the tile of a block."""
        c = contraction(nest)
        if isinstance(c, NoMatch):
            return c
        if not builder.machine.has_async_copy:
            return NoMatch("the machine does not copy to shared memory meanwhile")
        c = _with_one_row(c)
        tile = _tile(builder, c)
        return (
            NoMatch("no instruction of warpgroups multiplies tiles of these operands")
            if tile is None
            else (c, tile)
        )

    def apply(self, builder: ScheduleBuilder, match: tuple[Contraction, _Tile]) -> Scheduled | NoMatch:
        """The steps."""
        return _by_warpgroups(builder, *match)


def _by_warpgroups(builder: ScheduleBuilder, c: Contraction, tile: _Tile) -> Scheduled | NoMatch:
    """The steps, with boxes of operands that are copied as a whole where that is possible."""
    boxes = builder.machine.has_bulk_copy and all(
        neighbours(a) * a.tensor.dtype.bytes == VECTOR_BYTES for a in (c.left, c.right)
    )
    grid = _grid(builder, c, tile)
    pair = _pair(builder, c, tile, grid) if grid else None
    ways = [*([(grid, pair)] if pair is not None else []), *([(grid, None)] if grid else []), (None, None)]
    for box, along in ways if boxes else ():
        found = builder.transaction(partial(_with_boxes, builder, c, tile, box, along))
        if found is not None:
            return found
    return _scheduled(builder, c, tile, None, None, whole=False)


def _with_boxes(
    builder: ScheduleBuilder, c: Contraction, tile: _Tile, box: Sequence[int] | None, pair: int | None
) -> Scheduled | None:
    """The steps with boxes that are copied as a whole; None where they do not go through."""
    found = _scheduled(builder, c, tile, box, pair, whole=True)
    return None if isinstance(found, NoMatch) else found


def _scheduled(
    builder: ScheduleBuilder,
    c: Contraction,
    tile: _Tile,
    box: Sequence[int] | None,
    pair: int | None,
    *,
    whole: bool,
) -> Scheduled | NoMatch:
    """The steps for tiles of a size; boxes of operands are copied as a `whole`, or by all threads
    together.

    Args:
        box: of tiles that blocks have at once, which walk over all; without one each has one tile.
        pair: the loop over tiles of which two neighbours are for a cluster.
    """
    cut = _cut(builder, c, tile)
    others = handles(n for n in c.nest.reduction if n is not c.term)
    around = builder.surviving_loops(others) if whole else []
    cluster = None
    if box is not None:
        loops = [*handles(c.outer), cut.rows, cut.columns]
        walks, cluster = _dealt(builder, loops, _ways(c, tile), box, pair)
        around = [*walks, *around]
    builder.try_apply("set_scope", c.nest.main.tensor, "register")
    buffers: list[Tensor] = []
    for access, along, turned in ((c.left, c.row, tile.left_turned), (c.right, c.column, tile.right_turned)):
        buffer = _shared(builder, access, along, cut.terms, () if whole else tile.threads, turned)
        if buffer is None:
            return NoMatch("a part of an operand does not lie in rows")
        buffers.append(buffer)
    size = ROWS * tile.groups, tile.columns
    if box is None and not tiles_on_blocks(
        builder, cut.rows, cut.columns, handles(c.outer), size, _blocks(builder, tile)
    ):
        return NOT_ON_BLOCKS
    if cut.group is not None:
        builder.try_apply("bind", cut.group, "thread.y")
    builder.apply("tensorize", cut.row, f"zero_wgmma_n{tile.columns}")
    builder.apply("tensorize", cut.row, tile.instruction, reassoc=True)
    builder.try_apply("unroll", cut.parts)
    _in_lanes(builder, cut.row, cut.column)
    if not _ahead(builder, tile, cut.terms, buffers, around):
        return NoMatch("no room for two tiles of the operands")
    if whole:
        builder.apply("bulk_copy", cut.terms)
    if cluster is not None:
        builder.apply("multicast", buffers[0 if pair == len(c.outer) + 1 else 1], cluster)
    return Scheduled([cut.rows])


def _with_one_row(c: Contraction) -> Contraction:
    """With rows along one loop, that which fills tiles best, if it does: of images of few
    positions, the loop over images.
    """
    row = max(reversed(c.rows), key=lambda n: (filling(n, ROWS), extent(n)))
    return (
        replace(c, row=row, upper=None)
        if c.upper is not None and filling(row, ROWS) >= GPU_COSTS.tile_efficiency
        else c
    )


def _tile(builder: ScheduleBuilder, c: Contraction) -> _Tile | None:
    """The largest tiles of which there are enough, if rows and columns fill them as well as they
    would smaller ones.
    """
    left, right, total = (t.dtype.name for t in (c.left.tensor, c.right.tensor, c.nest.main.tensor))
    ways = _turned(c.left, c.row, c.term), _turned(c.right, c.column, c.term)
    size = c.left.tensor.dtype.bytes
    if (
        c.upper is not None
        or total != "f32"
        or None in ways
        or size * extent(c.term) < ROW
        or not builder.machine.has_async_copy
    ):
        return None
    if min(neighbours(a) * a.tensor.dtype.bytes for a in (c.left, c.right)) < LEAST_ASYNC_COPY:
        return None
    turned = "".join(letter for letter, way in zip("ab", ways) if way)
    suffix = f"_t{turned}" if turned else ""
    left_turned, right_turned = map(bool, ways)
    types = left if left == right else f"{left}_{right}"
    instructions = {n: f"wgmma_{types}_n{n}{suffix}" for _, n in TILES}
    found = [_Tile(groups, n, instructions[n], left_turned, right_turned, size) for groups, n in TILES]
    found = [t for t in found if t.instruction in builder.machine.instructions]
    uses = [filling(c.row, ROWS * t.groups) * filling(c.column, t.columns) for t in found]
    count = prod(extent(n) for n in c.outer) * extent(c.row) * extent(c.column)
    fitting = [
        t
        for t, used in zip(found, uses)
        if used >= GPU_COSTS.tile_efficiency * max(uses)
        and count >= GPU_COSTS.few_tiles * t.groups * ROWS * t.columns
    ]
    return next(iter(fitting or found[-1:]), None)


def _turned(access: Access, along: For, term: For) -> bool | None:
    """True if the operand is contiguous along rows or columns, not along terms; None if it is along
    neither.
    """
    return False if access.stride(term.var) == 1 else True if access.stride(along.var) == 1 else None


@frozen
class _Loops:
    """The loops that those of a contraction become.

    Attributes:
        rows, columns: over tiles.
        terms: over terms of a tile.
        group: over warpgroups; None for one.
        parts: over steps, of as many terms as an instruction takes.
        row, column: of a step.
    """

    rows: LoopHandle
    columns: LoopHandle
    terms: LoopHandle
    group: LoopHandle | None
    parts: LoopHandle
    row: LoopHandle
    column: LoopHandle


def _cut(builder: ScheduleBuilder, c: Contraction, tile: _Tile) -> _Loops:
    """Cut the loops of a contraction."""
    rows, row = builder.split(c.row, ROWS * tile.groups, tail="pad")
    columns, column = builder.split(c.column, tile.columns, tail="pad")
    terms, term = builder.split(c.term, ROW // tile.size, tail="pad")
    parts, term = builder.split(term, DEEP // tile.size, tail="exact")
    group = None
    if tile.groups > 1:
        group, row = builder.split(row, ROWS, tail="exact")
    others = handles(n for n in c.nest.reduction if n is not c.term)
    inside = [*filter(None, [group]), parts, row, column, term]
    builder.apply("reorder", *handles(c.outer), rows, columns, *others, terms, *inside)
    if integer(builder.loop(terms).extent) == 1 and not any(
        isinstance(n, Select) for n in walk(c.nest.main.value)
    ):  # a window inside its field, whose positions have one tile of terms each
        terms = fuse_known(builder, [*others, terms])
    return _Loops(rows, columns, terms, group, parts, row, column)


def _ways(c: Contraction, tile: _Tile) -> list[Way]:
    """The loops over tiles: those around rows and columns, those over rows, and those over
    columns.
    """
    outer = [Way(extent(n), int(c.left.stride(n.var) != 0), int(c.right.stride(n.var) != 0)) for n in c.outer]
    high = ROWS * tile.groups
    return [
        *outer,
        Way(-(-extent(c.row) // high), high, 0),
        Way(-(-extent(c.column) // tile.columns), 0, tile.columns),
    ]


def _grid(builder: ScheduleBuilder, c: Contraction, tile: _Tile) -> tuple[int, ...] | None:
    """Numbers of tiles along each loop that blocks have at once, where they walk over all."""
    blocks = builder.machine.processors * _blocks(builder, tile)
    known = all(integer(n.extent) is not None for n in (*c.outer, c.row, c.column))
    return at_once(_ways(c, tile), blocks) if blocks and known else None


def _pair(builder: ScheduleBuilder, c: Contraction, tile: _Tile, box: Sequence[int]) -> int | None:
    """The loop over tiles of which two neighbours are for the blocks of a cluster, so that they
    have the larger operand in common; None where there are no clusters, or tiles that would have no
    neighbour.
    """
    rows, columns, cluster = len(c.outer), len(c.outer) + 1, GPU_COSTS.cluster_blocks
    counts = {k: w.count for k, w in enumerate(_ways(c, tile))}
    order = (rows, columns) if tile.columns >= ROWS * tile.groups else (columns, rows)
    return next(
        (
            k
            for k in order
            if builder.machine.cluster_blocks >= cluster and counts[k] % cluster == box[k] % cluster == 0
        ),
        None,
    )


def _blocks(builder: ScheduleBuilder, tile: _Tile) -> int:
    """Number of blocks that run at once on a processor."""
    running = builder.machine.multiprocessor
    if running is None:
        return 0
    return max(
        1, min(GPU_COSTS.resident_blocks, resident(running, THREADS * tile.groups, 0, tile.registers)[0])
    )


def _dealt(
    builder: ScheduleBuilder,
    loops: list[LoopHandle],
    ways: Sequence[Way],
    box: Sequence[int],
    pair: int | None,
) -> tuple[list[LoopHandle], LoopHandle | None]:
    """Bind loops over tiles to blocks, as many as a box says; the loops in which these walk over
    all tiles, outermost first, and the loop over the blocks of a cluster (None if there are none).
    """
    bound: list[LoopHandle] = []
    walks: dict[int, LoopHandle] = {}
    axes, cluster = iter("xyz"), None
    if pair is not None:
        loops, ways, box = list(loops), list(ways), list(box)
        size, way = GPU_COSTS.cluster_blocks, ways[pair]
        loops[pair], cluster = builder.split(loops[pair], size, tail="exact")
        ways[pair] = Way(way.count // size, way.left * size, way.right * size)
        box[pair] //= size
    for k in reversed(range(len(loops))):
        several = ways[k].count > box[k]
        if box[k] == 1 and several:
            walks[k] = loops[k]
        elif several:
            walks[k], blocks = _bind_several(builder, loops[k], next(axes), box[k])
            bound.insert(0, blocks)
        elif box[k] > 1:
            builder.apply("bind", loops[k], f"block.{next(axes)}")
            bound.insert(0, loops[k])
    if cluster is not None:
        builder.apply("bind", cluster, "cluster.x")
    order = [walks[k] for k in order_of_rounds(ways, box)]
    builder.apply("reorder", *bound, *filter(None, [cluster]), *order)
    return order, cluster


def _bind_several(
    builder: ScheduleBuilder, loop: LoopHandle, axis: str, count: int
) -> tuple[LoopHandle, LoopHandle]:
    """Bind a loop to fewer blocks than it has iterations; the loop in which each of them walks over
    its share, and the loop over blocks.
    """
    walk, blocks, names = builder.names_of_parts(loop)
    builder.apply("bind", loop, f"block.{axis}", at_most=count, **names)
    return walk, blocks


def _shared(
    builder: ScheduleBuilder,
    access: Access,
    along: For,
    at: LoopHandle,
    threads: tuple[int, ...],
    turned: bool,
) -> Tensor | None:
    """Copy what a block reads at a time to shared memory, as descriptors say it lies; the copy,
    None if it has not the two dimensions that they describe.

    Args:
        threads: of the block; without them the loops of the copy stay.
    """
    buffer = builder.new_buffer("cache_read", access.tensor, at)
    builder.try_apply("set_scope", buffer, "shared")
    long = [d for d, n in enumerate(buffer.shape) if integer(n) != 1]
    if (
        len(long) != 2
        or long[1] != buffer.rank - 1
        or (along.var in variables(unclamped(access.indices[-1]))) != turned
    ):
        return None
    in_rows(builder, buffer, threads, neighbours(access))
    return buffer


def _in_lanes(builder: ScheduleBuilder, row: LoopHandle, column: LoopHandle) -> None:
    """Schedule the sums of a tile, each in the thread that holds it: of 16 rows of its warp two, of
    every 8 columns a pair.
    """
    warps, within = builder.split(row, 16, tail="exact")
    halves, eighth = builder.split(within, 8, tail="exact")
    tiles, within = builder.split(column, 8, tail="exact")
    fours, pair = builder.split(within, 2, tail="exact")
    builder.apply("reorder", warps, eighth, fours, tiles, halves, pair)
    eighths = builder.fuse(warps, eighth, "eighths")
    builder.apply("bind", builder.fuse(eighths, fours, "lane"), "thread.x")
    builder.apply("unroll", tiles)
    builder.apply("unroll", halves)
    builder.apply("vectorize", pair)


def _ahead(
    builder: ScheduleBuilder,
    tile: _Tile,
    terms: LoopHandle,
    buffers: Sequence[Tensor],
    around: Sequence[LoopHandle],
) -> bool:
    """Copies run ahead in as many buffers as there is room for; with three or more, products of one
    tile go on while the next begin. True if there is room for two.

    Args:
        around: loops from one iteration of which to the next copies run on, outermost first.
    """
    running, room = builder.machine.multiprocessor, builder.machine.shared_bytes
    if running is not None:
        room = min(room, running.shared_bytes // _blocks(builder, tile) - running.reserved)
    count = min(
        GPU_COSTS.warpgroup_buffers,
        room // sum(map(bytes_of, buffers)),
        max(2, integer(builder.loop(terms).extent) or GPU_COSTS.warpgroup_buffers),
    )
    options: dict[str, object] = {"asynchronous": True}
    options |= {"lead": count - 2} if count > 2 else {}
    if count < 2:
        return False
    if not around or not builder.try_apply("pipeline", terms, count, **options, through=around[0]):
        builder.apply("pipeline", terms, count, **options)
    builder.apply("async_mma", terms, *((1,) if count > 2 else ()))
    return True
