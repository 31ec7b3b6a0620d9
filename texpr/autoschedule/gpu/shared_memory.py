"""Shared memory of the blocks of a GPU: copies that all threads make together, and the loops over
blocks around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, copy_loops
from texpr.autoschedule.core.layouts import dimension_names, layout_with_last_dim
from texpr.autoschedule.core.template import NoMatch
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.persistent_grid import rows_together
from texpr.autoschedule.gpu.row_reduction import LANES, VECTOR_BYTES, fuse_known
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Call, Cast, Const, Expr, Mul, Read, Select, Tensor
from texpr.ir.identities import is_rounded
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access, unclamped
from texpr.support.frozen_dataclass import frozen

ROW = 128
"""Bytes of a row of an operand that a warpgroup multiplies (PTX ISA, `wgmma`, 128-byte swizzle)."""
UNITS = 8
"""Units of 16 bytes that lie in different banks: there are 32 of 4 bytes (CUDA C++ Programming
Guide, shared memory)."""
LEAST_ASYNC_COPY = 4
"""Bytes that a thread copies to shared memory without waiting, at least (PTX ISA, `cp.async`)."""
NOT_ON_BLOCKS = NoMatch("loops that blocks would have to divide for")


def is_product(value: Expr) -> bool:
    """True if this is a product of two reads, each converted or rounded or not, and 0 outside its
    tensor or not.
    """
    return isinstance(value, Mul) and _is_factor(value.lhs) and _is_factor(value.rhs)


def _is_factor(e: Expr) -> bool:
    e = e.args[0] if is_rounded(e) and isinstance(e, Call) else e
    if isinstance(e, Cast):
        e = e.operand
    if isinstance(e, Select) and isinstance(e.orelse, Const):
        e = e.then
    return isinstance(e, Read)


def on_blocks(builder: ScheduleBuilder, groups: Sequence[list[LoopHandle]]) -> bool:
    """Make one loop of each group, over blocks: of x that of the first group, of y and z those of
    the others; True if that was possible.
    """
    for axis, loops in zip("xyz", groups):
        if not loops:
            continue
        blocks = fuse_known(builder, loops)
        if blocks in loops[:-1]:
            return False
        builder.apply("bind", blocks, f"block.{axis}")
    return True


def tiles_on_blocks(
    builder: ScheduleBuilder,
    rows: LoopHandle,
    columns: LoopHandle,
    outer: list[LoopHandle],
    tile: tuple[int, int],
    each: int = 2,
) -> bool:
    """Make loops over tiles loops over blocks, in whose order those that run at once read few rows
    and columns of the operands; True if that was possible.

    Args:
        tile: rows and columns of one.
        each: blocks that run at once on a processor, about.
    """
    high, wide = (integer(builder.loop(loop).extent) for loop in (rows, columns))
    group = (
        1
        if outer or high is None or wide is None
        else rows_together(high, wide, *tile, builder.machine.processors * each)
    )
    if group == 1:
        return on_blocks(builder, ([columns], [rows], outer))
    groups, row = builder.split_if_longer(rows, group, "exact")
    if groups is None:
        return on_blocks(builder, ([row], [columns]))
    builder.apply("reorder", groups, columns, row)
    return on_blocks(builder, ([row], [columns], [groups]))


def shared(
    builder: ScheduleBuilder,
    access: Access,
    along: For,
    at: LoopHandle,
    threads: tuple[int, ...],
    *,
    turned: bool,
    alone: bool = False,
) -> Rows:
    """Copy what a block reads at a time to shared memory, all threads together; how far apart its
    rows are to be, so that they begin in different banks.

    Args:
        turned: neighbours along the target become neighbours, which they are not in the tensor.
        alone: elements that are turned are copied one by one, as asynchronous copies are.
        threads: of the block, along its axes from the last one to x.
    """
    buffer = copied(builder, access.tensor, at, threads, 1 if turned and alone else neighbours(access))
    last = max(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
    if turned:
        last = next(d for d, i in enumerate(access.indices) if along.var in variables(i))
        builder.apply("layout", buffer, layout_with_last_dim(buffer, last))
        last = buffer.rank - 1
    size = VECTOR_BYTES // buffer.dtype.bytes
    return Rows(buffer, last - buffer.rank, size, size)


def shared_units(
    builder: ScheduleBuilder, access: Access, at: LoopHandle, threads: tuple[int, ...]
) -> Tensor:
    """As `shared`, for instructions that read columns of units of 16 bytes: these are exchanged,
    where rows have a power of two of them. The copy.
    """
    buffer = copied(builder, access.tensor, at, threads, neighbours(access))
    row, unit = integer(buffer.shape[-1]) or 0, VECTOR_BYTES // buffer.dtype.bytes
    if not builder.try_apply("swizzle", buffer, unit, min(row // unit, UNITS), max(row, UNITS * unit)):
        last = max(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
        Rows(buffer, last - buffer.rank, unit, unit).try_pad(builder)
    return buffer


@frozen
class Rows:
    """The distance of rows of a buffer in shared memory, so that lanes find their elements
    in different banks.

    Attributes:
        buffer: as it was copied; steps may have given it other dimensions before the last ones.
        dimension: the last one, from the end.
        multiple: elements of which the distance of rows is a multiple, but for the extra ones.
        extra: elements that rows get.
    """

    buffer: Tensor
    dimension: int
    multiple: int
    extra: int

    def try_pad(self, builder: ScheduleBuilder) -> bool:
        """Lay the buffer out so, if that is legal; True if it was. `pipeline` makes buffers of what
        iterations use, so this comes after it.
        """
        rank = next(t.rank for t in builder.kernel.temporaries if t.name == self.buffer.name)
        return builder.try_apply("pad", self.buffer, rank + self.dimension, self.multiple, extra=self.extra)


def shared_elements(
    builder: ScheduleBuilder, access: Access, at: LoopHandle, threads: tuple[int, ...], *, apart: bool
) -> Rows:
    """As `shared`, for instructions whose lanes read an element each, eight by four: in the order
    of the tensor, without room between rows.

    Args:
        apart: rows have the eight.
    """
    buffer = copied(builder, access.tensor, at, threads, neighbours(access))
    last = max(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
    size = VECTOR_BYTES // buffer.dtype.bytes
    return Rows(
        buffer, last - buffer.rank, 4 * size if apart else size, 2 * size if apart or size < 4 else size
    )


def copied(
    builder: ScheduleBuilder, tensor: Tensor, at: LoopHandle, threads: tuple[int, ...], vector: int
) -> Tensor:
    """A copy in shared memory of what a block reads at a time, made by all threads together.

    Args:
        vector: neighbours that one thread copies at once.
    """
    buffer = builder.new_buffer("cache_read", tensor, at)
    builder.try_apply("set_scope", buffer, "shared")
    long = (d for d, n in enumerate(buffer.shape) if integer(n) != 1)
    filled(builder, copy_loops(buffer, long), vector, threads)
    return buffer


def in_rows(builder: ScheduleBuilder, buffer: Tensor, threads: tuple[int, ...], vector: int) -> None:
    """Lay out a copy as instructions of warpgroups want operands, and fill it: in swizzled rows of
    128 bytes, longer ones in panels.

    Args:
        buffer: of two dimensions, and others of one element; the last one is a row.
        threads: of the block, along its axes from the last one to x; without them the loops of the
            copy stay, a panel after the other.
        vector: neighbours that one thread copies at once.
    """
    long = [d for d, n in enumerate(buffer.shape) if integer(n) != 1]
    loops = copy_loops(buffer, long)
    row = ROW // buffer.dtype.bytes
    if integer(buffer.shape[-1]) != row:
        panels, within = builder.split(loops[1], row, tail="exact")
        *names, last = dimension_names(buffer)
        form = f"{' '.join([*names, last])} -> {last}/{row} {' '.join(names)} {last}%{row}"
        builder.apply("layout", buffer, form)
        loops[1:] = panels, within
        if not threads:
            builder.apply("reorder", panels, loops[0], within)
    if threads:
        filled(builder, loops, vector, threads)
    builder.apply("swizzle", buffer, row // 8, 8, row)


def neighbours(access: Access) -> int:
    """Neighbours that one thread copies at once: those of a row that begins at a multiple of
    them, and whose part begins there.
    """
    last = linear(unclamped(access.indices[-1]))
    if len(last.terms) != 1 or last.constant:
        return 1  # a window begins anywhere
    return gcd(VECTOR_BYTES // access.tensor.dtype.bytes, integer(access.tensor.shape[-1]) or 1)


def filled(builder: ScheduleBuilder, loops: list[LoopHandle], vector: int, threads: tuple[int, ...]) -> None:
    """The loops of a copy shared out among the threads of a block."""
    inner = None
    if vector > 1 and (cut := builder.try_split(loops[-1], vector)) is not None:
        loops, inner = [*loops[:-1], cut[0]], cut[1]
    rounds, rest = builder.split_if_longer(fuse_known(builder, loops), prod(threads), "guard")
    for axis, count in zip("xyz", reversed(threads)):
        if axis != "xyz"[len(threads) - 1] and (cut := builder.try_split(rest, count)) is not None:
            rest, bound = cut
            builder.try_apply("bind", bound, f"thread.{axis}")
        else:
            builder.try_apply("bind", rest, f"thread.{axis}")
    if (
        rounds is not None
        and (integer(builder.loop(rounds).extent) or LANES) <= GPU_COSTS.unrolled_copy_rounds
    ):
        builder.try_apply("unroll", rounds)
    if inner is not None:
        builder.try_apply("vectorize", inner)


def fragments(
    builder: ScheduleBuilder,
    shared: Tensor,
    access: Access,
    at: LoopHandle,
    along: For,
    upper: For | None = None,
) -> bool:
    """Load the tiles that a warp multiplies to registers, from a shared copy by rows of 16
    elements or of 32 bytes; True if that has the two dimensions of a tile, or three with `upper`.

    Args:
        access: of the tensor that the copy is of.
        along: the loop over rows or columns that the access moves with.
        upper: another one, where tiles have rows along two loops.
    """
    buffer = builder.new_buffer("cache_read", shared, at)
    builder.try_apply("set_scope", buffer, "register")
    long = [d for d, n in enumerate(buffer.shape) if integer(n) != 1]
    if len(long) == 3 and upper is not None and any(upper.var in variables(access.indices[d]) for d in long):
        tiles = next(d for d in long if upper.var in variables(access.indices[d]))
        _load_rows_of_tiles(builder, buffer, tiles, [d for d in long if d != tiles])
        return True
    if len(long) != 2:
        return False
    turned = along.var in variables(access.indices[long[1]])
    first, second = copy_loops(buffer, long)
    tiles, inner = builder.split_if_longer(second if turned else first, 16)
    tile = [first, inner] if turned else [inner, second]
    if tiles is not None:
        builder.apply("reorder", tiles, *tile)
    builder.apply("tensorize", tile[0], f"ldmatrix_{'trans_' if turned else ''}{buffer.dtype}")
    if tiles is not None:
        builder.apply("unroll", tiles)
    return True


def _load_rows_of_tiles(builder: ScheduleBuilder, buffer: Tensor, tiles: int, tile: list[int]) -> None:
    """Load tiles of 16 rows, one for each element of the dimension `tiles`.

    Args:
        tile: the dimensions of a tile.
    """
    outer, inner = copy_loop(buffer, tiles), copy_loops(buffer, tile)
    if tiles > tile[0]:
        builder.apply("reorder", outer, *inner)
    builder.apply("tensorize", inner[0], f"ldmatrix_{buffer.dtype}")
    builder.apply("unroll", outer)
