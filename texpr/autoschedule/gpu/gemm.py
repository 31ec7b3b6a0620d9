"""Contractions on a GPU: a block computes a tile of the target, its threads share tiles of both
operands and keep their sums in registers.

Contractions are matrix products of any layout, batched or not (`contraction`). Where the machine
multiplies tiles of the operands' type, warpgroups do so where they can (`warpgroup_gemm`), else
warps (`mma_...`), and terms of 0 * 0 fill the last tile; else every thread adds up a tile of its
own.

Source: Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008, for tiles of
sums in the registers of threads.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.contraction import TALL, Contraction, contraction
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.mma_fragments import in_lanes
from texpr.autoschedule.gpu.row_reduction import LANES, VECTOR_BYTES
from texpr.autoschedule.gpu.shared_memory import (
    LEAST_ASYNC_COPY,
    NOT_ON_BLOCKS,
    Rows,
    fragments,
    neighbours,
    shared,
    shared_elements,
    shared_units,
    tiles_on_blocks,
)
from texpr.ir.build import integer
from texpr.ir.expr import Mul
from texpr.ir.identities import is_rounded
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen


class WarpGemm:
    """Contractions on tensor cores: warps multiply tiles of both operands (`mma_...`)."""

    name, stage = "WarpGemm", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> tuple[Contraction, str] | NoMatch:
        """The parts of the nest, and the instruction."""
        c = contraction(nest)
        if isinstance(c, NoMatch):
            return c
        product = _product(builder, c)
        return (
            NoMatch("no instruction of warps multiplies tiles of these operands")
            if product is None
            else (c, product)
        )

    def apply(self, builder: ScheduleBuilder, match: tuple[Contraction, str]) -> Scheduled | NoMatch:
        """The steps."""
        return _by_warps(builder, *match)


class GpuGemm:
    """Contractions in the arithmetic of threads, each of which has a tile of sums in registers."""

    name, stage = "GpuGemm", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Contraction | NoMatch:
        """The parts of the nest."""
        c = contraction(nest)
        return c if isinstance(c, NoMatch) or c.upper is None else NoMatch("rows along two loops")

    def apply(self, builder: ScheduleBuilder, match: Contraction) -> Scheduled | NoMatch:
        """The steps."""
        return _by_threads(builder, match)


# Threads.


def _by_threads(builder: ScheduleBuilder, c: Contraction) -> Scheduled | NoMatch:
    """256 threads, each with a tile of sums: 8 x 8, or 4 x 4 where tiles are few or sums are
    long.
    """
    tiles = prod(extent(n) for n in (*c.outer, c.row, c.column)) // (128 * 128)
    large = tiles >= GPU_COSTS.few_tiles and min(extent(c.row), extent(c.column)) > 2 * GPU_COSTS.tile_side
    size = 8 if large and c.nest.main.tensor.dtype.bytes <= 4 else 4
    vector = min(4, VECTOR_BYTES // c.nest.main.tensor.dtype.bytes)
    rows, row = builder.split(c.row, 16 * size, tail="pad")
    columns, column = builder.split(c.column, 16 * size, tail="pad")
    terms, term = builder.split(c.term, 16)
    row_threads, row = builder.split(row, size, tail="exact")
    halves, column = builder.split(column, 16 * vector, tail="exact")
    column_threads, column = builder.split(column, vector, tail="exact")
    outer, others = handles(c.outer), handles(n for n in c.nest.reduction if n is not c.term)
    inside = [row_threads, column_threads, term, row, halves, column]
    builder.apply("reorder", *outer, rows, columns, *others, terms, *inside)
    builder.try_apply("set_scope", c.nest.main.tensor, "register")
    ahead = (
        builder.machine.has_async_copy
        and min(a.tensor.dtype.bytes for a in (c.left, c.right)) >= LEAST_ASYNC_COPY
    )
    apart = [
        shared(builder, access, along, terms, (16, 16), turned=access.stride(along.var) != 1, alone=ahead)
        for access, along in ((c.left, c.row), (c.right, c.column))
    ]
    if not tiles_on_blocks(builder, rows, columns, outer, (16 * size, 16 * size)):
        return NOT_ON_BLOCKS
    builder.try_apply("bind", row_threads, "thread.y")
    builder.try_apply("bind", column_threads, "thread.x")
    builder.try_apply("unroll", row)
    builder.try_apply("unroll", halves)
    builder.try_apply("vectorize", column)
    _, written_out = builder.try_split(term, GPU_COSTS.unrolled_terms, tail="exact") or (None, term)
    builder.try_apply("unroll", written_out)
    if ahead:
        _begun_ahead(builder, terms, apart)
    for each in apart:
        each.try_pad(builder)
    return Scheduled([rows])


# Warps.


@frozen
class _Cores:
    """A kind of tensor cores: an instruction for factors of two types, and a name of those for
    their sums.

    Attributes:
        rows, terms: of the instruction's tile; it has eight columns.
        tallest: rows of a warp's tile for which there are registers.
        rounds: its factors are rounded, or its sums in an order of its own.
        rows_of_registers: factors are loaded from shared memory to registers by other instructions;
            else it reads them there itself.
    """

    left: str
    right: str
    total: str
    sums: str
    rows: int = TALL
    terms: int = TALL
    tallest: int = 64
    rounds: bool = True
    rows_of_registers: bool = True


_CORES = {
    "mma_bf16": _Cores("bf16", "bf16", "f32", "mma_f32"),
    "mma_f16": _Cores("f16", "f16", "f32", "mma_f32"),
    "mma_i8": _Cores("i8", "i8", "i32", "mma_i32", terms=2 * TALL, rounds=False),
    "mma_f8e4m3": _Cores("f8e4m3", "f8e4m3", "f32", "mma_f32", terms=2 * TALL),
    "mma_f8e5m2": _Cores("f8e5m2", "f8e5m2", "f32", "mma_f32", terms=2 * TALL),
    "mma_f8e4m3_f8e5m2": _Cores("f8e4m3", "f8e5m2", "f32", "mma_f32", terms=2 * TALL),
    "mma_f8e5m2_f8e4m3": _Cores("f8e5m2", "f8e4m3", "f32", "mma_f32", terms=2 * TALL),
    "mma_tf32": _Cores("f32", "f32", "f32", "mma_f32", terms=TALL // 2, rows_of_registers=False),
    "mma_f64": _Cores("f64", "f64", "f64", "mma_f64", TALL // 2, TALL // 4, 32, rows_of_registers=False),
}


def factors_for(builder: ScheduleBuilder, nest: Nest) -> str | None:
    """The type of the factors of a contraction that tensor cores take once they are rounded; None
    if there is none.
    """
    c = contraction(nest)
    if isinstance(c, NoMatch) or "mma_tf32" not in builder.machine.instructions:
        return None
    types = {t.dtype.name for t in (c.left.tensor, c.right.tensor, c.nest.main.tensor)}
    return "f32" if types == {"f32"} else None


def _product(builder: ScheduleBuilder, c: Contraction) -> str | None:
    """The instruction by which the machine multiplies tiles; None if it does not."""
    left, right, total = (t.dtype.name for t in (c.left.tensor, c.right.tensor, c.nest.main.tensor))
    value = c.nest.main.value
    rounded = isinstance(value, Mul) and is_rounded(value.lhs) and is_rounded(value.rhs)
    name = "mma_tf32" if rounded else f"mma_{left}" if left == right else f"mma_{left}_{right}"
    cores = _CORES.get(name)
    if (
        cores is None
        or name not in builder.machine.instructions
        or (left, right, total) != (cores.left, cores.right, cores.total)
    ):
        return None
    if not cores.rows_of_registers:
        return name
    turns = c.right.tensor.dtype.bytes > 1 and c.right.stride(c.column.var) == 1
    if c.left.stride(c.term.var) != 1 or c.right.stride(c.term.var) != 1 and not turns:
        return None
    return name


def _by_warps(builder: ScheduleBuilder, c: Contraction, instruction: str) -> Scheduled | NoMatch:
    """Eight warps, each with a tile of 64 x 32 sums, of f64 of half as many; four with 32 x 32
    where tiles are few.
    """
    cores = _CORES[instruction]
    rows = extent(c.row) * (1 if c.upper is None else extent(c.upper))
    tiles = prod(map(extent, c.outer)) * (rows * extent(c.column) // (128 * 128))
    many = tiles >= GPU_COSTS.few_tiles and min(rows, extent(c.column)) > 2 * GPU_COSTS.tile_side
    high, tall, wide = (2, cores.tallest, 4) if many else (2, 32, 2)
    deep = cores.terms
    cut = _cut_rows(builder, c, high * tall, tall, cores.rows)
    columns, column = builder.split(c.column, wide * 32, tail="pad")
    terms, term = builder.split(c.term, _terms(c, deep), tail="pad")
    parts, term = builder.split(term, deep, tail="exact")
    column_warps, column = builder.split(column, 32, tail="exact")
    column_tiles, column = builder.split(column, 8, tail="exact")
    outer = [*handles(c.outer), *cut.upper]
    others = handles(n for n in c.nest.reduction if n is not c.term)
    inside = [cut.warps, column_warps, parts, cut.tiles, column_tiles, cut.row, column, term]
    builder.apply("reorder", *outer, cut.rows, columns, *others, terms, *inside)
    builder.try_apply("set_scope", c.nest.main.tensor, "register")
    far: list[Rows] = []
    for access, along in ((c.left, c.row), (c.right, c.column)):
        if not cores.rows_of_registers:
            apart = access.stride(c.term.var) != 1
            far.append(shared_elements(builder, access, terms, (high, wide, LANES), apart=apart))
            continue
        copy = shared_units(builder, access, terms, (high, wide, LANES))
        if not fragments(builder, copy, access, parts, along, c.upper):
            return NoMatch("a part of an operand is no tile")
    if not tiles_on_blocks(builder, cut.rows, columns, outer, (high * tall, wide * 32)):
        return NOT_ON_BLOCKS
    builder.try_apply("bind", cut.warps, "thread.z")
    builder.try_apply("bind", column_warps, "thread.y")
    _multiply(builder, instruction, (cut.tiles, column_tiles), cut.row, column)
    for loop in (cut.tiles, column_tiles, parts):
        builder.try_apply("unroll", loop)
    if (
        builder.machine.has_async_copy
        and min(neighbours(a) * a.tensor.dtype.bytes for a in (c.left, c.right)) >= LEAST_ASYNC_COPY
    ):
        _begun_ahead(builder, terms, far)
    for each in far:
        each.try_pad(builder)
    return Scheduled([cut.rows])


def _multiply(
    builder: ScheduleBuilder,
    instruction: str,
    tiles: tuple[LoopHandle, LoopHandle],
    row: LoopHandle,
    column: LoopHandle,
) -> None:
    """Replace the loops of a tile by instructions. Where more than the sums themselves is made of
    them, the lanes that hold them do so, of neighbours at once where these are stored together.
    """
    cores = _CORES[instruction]
    builder.apply("tensorize", row, f"zero_{cores.sums}")
    stored = builder.try_apply("tensorize", row, f"store_{cores.sums}")
    builder.apply("tensorize", row, instruction, **({"reassoc": True} if cores.rounds else {}))
    if not stored:
        pair = in_lanes(builder, [*tiles], row, column)
        if not builder.try_apply("vectorize", pair):
            builder.apply("unroll", pair)


@frozen
class _RowLoops:
    """The loops that those over rows of a contraction become.

    Attributes:
        upper: over blocks of the upper loop, if there is one.
        rows: over blocks of rows.
        warps: over the warps of a block.
        tiles: over the tiles of a warp.
        row: over the rows of a tile.
    """

    upper: list[LoopHandle]
    rows: LoopHandle
    warps: LoopHandle
    tiles: LoopHandle
    row: LoopHandle


def _cut_rows(builder: ScheduleBuilder, c: Contraction, block: int, warp: int, tall: int) -> _RowLoops:
    """Cut the loops over rows.

    Args:
        block, warp, tall: rows of a block, a warp and a tile.
    """
    if c.upper is None:
        rows, row = builder.split(c.row, block, tail="pad")
        warps, row = builder.split(row, warp, tail="exact")
        tiles, row = builder.split(row, tall, tail="exact")
        return _RowLoops([], rows, warps, tiles, row)
    rows, row = builder.split(c.row, tall, tail="pad")
    upper, tiles = builder.split(c.upper, block // tall, tail="pad")
    warps, tiles = builder.split(tiles, warp // tall, tail="exact")
    return _RowLoops([upper], rows, warps, tiles, row)


def _terms(c: Contraction, deep: int) -> int:
    """Terms of a tile: two of the instruction's, unless that fills up more than one alone does,
    by much of the whole.
    """
    n = integer(c.term.extent)
    left = 0 if n is None else -n % (2 * deep)
    return deep if n is not None and left >= deep and n < 16 * deep else 2 * deep


def _begun_ahead(builder: ScheduleBuilder, terms: LoopHandle, far: list[Rows]) -> None:
    """Copies of the next terms are under way while these are multiplied, in as many buffers as two
    blocks at once have memory for.

    Args:
        far: rows that will be further apart than they are.
    """
    before = builder.checkpoint()
    for each in far:
        each.try_pad(builder)
    shared = sum(bytes_of(t) for t in builder.kernel.temporaries if t.scope == "shared")
    builder.rollback(before)
    running = builder.machine.multiprocessor
    room = (
        builder.machine.shared_bytes
        if running is None
        else min(builder.machine.shared_bytes, running.shared_bytes // 2 - running.reserved)
    )
    buffers = min(GPU_COSTS.buffers, room // shared, integer(builder.loop(terms).extent) or GPU_COSTS.buffers)
    if buffers > 1:
        builder.try_apply("pipeline", terms, buffers, asynchronous=True)
