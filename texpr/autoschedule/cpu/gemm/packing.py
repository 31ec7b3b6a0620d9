"""Common parts of schedules of contractions: operands in panels, tiles of sums in buffers that
become registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, copy_loops
from texpr.autoschedule.core.layouts import dimension_names
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.cpu import scalable_vectors
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Read, Tensor
from texpr.ir.instructions import INSTRUCTIONS, transpose
from texpr.ir.loop import For
from texpr.ir.traverse import variables, walk
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen

LINE = 64
"""Bytes of a cache line."""
WAYS = 8
"""Ways of an L1 of 32 KiB: cache lines that it holds whose addresses differ by a multiple of
`ALIAS`.
"""
ALIAS = 4096
"""Bytes after which addresses fall into the same set of such an L1: 64 sets of cache lines."""
TOGETHER = WAYS
"""Rows that are copied side by side: a first cache holds their lines even where they lie a
multiple of `ALIAS` apart.
"""


def permission(instruction: str) -> dict[str, bool]:
    """The permission that a `tensorize` to an instruction needs."""
    return {"reassoc": True} if INSTRUCTIONS[instruction].flushes_denormals else {}


@frozen
class Panels:
    """An operand in panels.

    Attributes:
        buffer: that holds them.
        outermost: the outermost loop of the copy.
    """

    buffer: Tensor
    outermost: LoopHandle


def copy_operand(
    builder: ScheduleBuilder,
    access: Access,
    at: LoopHandle,
    sums: DType | None,
    along: LoopHandle | None = None,
) -> Tensor | None:
    """Copy what is read under a loop to a buffer, widened to the type of the sums where each read
    widens it: once, not for each use. The buffer, None where that is not possible.

    Args:
        along: a loop with which alone moves what is copied, if there is one.
    """
    own = {"along": along} if along else {}
    if sums is not None and access.tensor.dtype.bytes < sums.bytes and sums.is_float:
        wide = builder.try_copy(access.tensor, at, dtype=sums.name, **own)
        if wide is not None:
            return wide
    return builder.try_copy(access.tensor, at, **own)


def pack(
    builder: ScheduleBuilder,
    access: Access,
    at: LoopHandle,
    loop: For,
    factor: int,
    sums: DType | None = None,
    along: LoopHandle | None = None,
    parts: Sequence[LoopHandle] = (),
) -> Panels | None:
    """Copy what is read under `at` to panels: `factor` iterations of `loop` beside each other. None
    where that is not possible.

    What lies apart in the tensor is transposed a cache line at a time.

    Args:
        parts: the loops into which `loop` was cut, if it was: the last one over the iterations of a
            panel.
    """
    moving = access.moving(loop.var)
    if len(moving) != 1 or (buffer := copy_operand(builder, access, at, sums, along)) is None:
        return None
    dimensions = _dimensions(builder, buffer, parts) if parts else moving
    if not dimensions:
        return None
    *first, d = dimensions
    return pack_panels(builder, buffer, d, factor, access.stride(loop.var) == 1, first)


def _dimensions(builder: ScheduleBuilder, buffer: Tensor, parts: Sequence[LoopHandle]) -> list[int]:
    """The dimensions of a copy that move with these loops, in their order, the one last that moves
    with the last loop; none where several do.

    A panel may be a row of an image whose positions were joined to one loop: then the copy has
    dimensions for rows and columns still.
    """
    read = next(n for n in walk(*builder.kernel.body) if isinstance(n, Read) and n.tensor.name == buffer.name)
    found = [
        [d for d, i in enumerate(read.indices) if variables(i) & {n.var for n in builder.loops(part)}]
        for part in parts
    ]
    *others, last = found
    if len(last) != 1:
        return []
    return [*dict.fromkeys(d for each in others for d in each if d != last[0]), last[0]]


def pack_panels(
    builder: ScheduleBuilder, buffer: Tensor, d: int, factor: int, in_line: bool, first: Sequence[int] = ()
) -> Panels | None:
    """Dimension `d` of a buffer in panels of `factor` elements, the loops that fill it in the order
    that suits both sides. None where that is not possible.

    Args:
        in_line: neighbours along `d` are neighbours in the tensor too; else a cache line at a time
            is transposed.
        first: dimensions that move from panel to panel too.
    """
    names = dimension_names(buffer)
    cut = builder.try_split(copy_loop(buffer, d), factor)
    if cut is None:
        return None
    others = [*first, *(k for k in range(buffer.rank) if k not in (*first, d))]
    rest = " ".join(names[k] for k in others)
    outside = copy_loops(buffer, (k for k, n in enumerate(buffer.shape) if k != d and integer(n) != 1))
    layout = f"{' '.join(names)} -> {names[d]}/{factor} {rest} {names[d]}%{factor}"
    full = (integer(buffer.shape[d]) or 1) % factor == 0
    squares = (cut[0], *outside[:-1], cut[1], *outside[-1:])
    if (
        not in_line
        and full
        and outside
        and transpose_in_registers(
            builder, buffer, layout, squares, whole=True, through=through_rows(buffer, d)
        )
    ):
        return Panels(builder.current_buffer(buffer), cut[0])
    of_line = LINE // buffer.dtype.bytes
    line = (
        None
        if in_line or not outside or _extent(builder, outside[-1]) < of_line
        else builder.try_split(outside[-1], of_line)
    )
    if line is not None:
        order = [cut[0], *outside[:-1], line[0], cut[1]]
        builder.try_apply("reorder", *order, line[1])
        builder.try_apply("unroll", line[1])
    else:
        rows = builder.split_if_longer(outside[-1], TOGETHER, "clip") if outside else (None, None)
        order = [*outside[:-1], *filter(None, (rows[0], cut[0], rows[1]))]
        builder.try_apply("reorder", *order, cut[1])
        if not (
            scalable_vectors.wanted(builder)
            and builder.try_apply("vectorize_scalable", cut[1], CPU_COSTS.scalable_tile_registers)
        ):
            builder.try_apply("vectorize", cut[1])
        # The last panel alone may be asked what it has.
        choices = {} if builder.machine.has_masks else {"choices": True}
        builder.try_apply("partition", cut[0], **choices)
    builder.try_apply("layout", buffer, layout)
    return Panels(builder.current_buffer(buffer), order[0])


def through_rows(buffer: Tensor, d: int) -> list[LoopHandle]:
    """The loops that run through a row of what is copied, the last one aside, where rows lie
    apart along dimension `d`.
    """
    return copy_loops(buffer, (k for k, n in enumerate(buffer.shape) if k > d and integer(n) != 1))[:-1]


def _ask_ahead(builder: ScheduleBuilder, buffer: Tensor, loop: LoopHandle, row: int) -> None:
    """Read what comes from far ahead of a loop whose iterations copy `row` elements of rows
    each.
    """
    for source in [
        s.value.tensor
        for s in stores(builder.kernel)
        if s.tensor.name == buffer.name and isinstance(s.value, Read)
    ][:1]:
        if bytes_of(source) > builder.l2_budget > 0:
            distance = -(-GEMM_COSTS.packing_prefetch_bytes // (row * source.dtype.bytes))
            builder.try_apply("prefetch", source, loop, distance)


def transpose_in_registers(
    builder: ScheduleBuilder,
    buffer: Tensor,
    layout: str,
    loops: Sequence[LoopHandle],
    *,
    whole: bool = False,
    through: Sequence[LoopHandle] = (),
    extents: Sequence[int] = (),
) -> bool:
    """Fill a buffer, or write it out, by squares that are transposed in registers; whether that was
    possible.

    The last two loops are over squares, the first of them along neighbours in what is written. Of
    the squares that leave least over, the largest are taken; what is left over is copied as it is.

    Args:
        whole: squares of registers, or of halves of them, that leave nothing over will do alone.
        through: those of the loops that run through rows: the rows of a square are copied to their
            ends before the next ones.
        extents: of the last two loops, where these depend on other loops: what they have in all.
    """
    extents = extents or [_extent(builder, loop) for loop in loops[-2:]]
    lane = builder.machine.vector_bytes // buffer.dtype.bytes
    fitting = [
        n
        for n in ((lane, lane // 2) if whole else _SIDES)
        if transpose(buffer.dtype, n) in builder.machine.instructions
        and buffer.dtype.bytes >= 4
        and n <= min(extents)
        and not (whole and any(e % n for e in extents))
    ]
    side = min(fitting, key=lambda n: (sum(e % n for e in extents), -n), default=0)
    if not side:
        return False
    before = builder.checkpoint()
    across, lane = builder.split_if_longer(loops[-2], side)
    along, row = builder.split_if_longer(loops[-1], side)
    order = [*(n for n in loops[:-2] if n not in through), across, *through, along, row, lane]
    name = transpose(buffer.dtype, side)
    if (
        builder.try_apply("layout", buffer, layout)
        and builder.try_apply("reorder", *filter(None, order))
        and builder.try_apply("tensorize", row, name)
    ):
        if through:
            _ask_ahead(builder, buffer, through[-1], extents[-1])
        return True
    builder.rollback(before)
    return False


def _extent(builder: ScheduleBuilder, loop: LoopHandle) -> int:
    return builder.extents(loop)[0] or 1


_SIDES = (4, 8, 16)
"""Of squares: smaller ones cost more shuffles than they save lines of memory."""


def accumulators(builder: ScheduleBuilder, nest: Nest) -> list[Tensor]:
    """The tensors to which the terms of a nest are added: what is left over of tiles has its
    own.
    """
    added = {
        s.tensor for s in stores(builder.kernel) if s.equation == nest.main.equation and s.update is not None
    }
    return [t for t in builder.kernel.temporaries if t in added and t.rank == nest.main.tensor.rank]


def accumulate_in_registers(
    builder: ScheduleBuilder, nest: Nest, lane: LoopHandle, places: Sequence[LoopHandle]
) -> None:
    """The sums of a tile stay in a buffer of their own while a block is added to them; so do those
    of what is left over of tiles.

    Args:
        lane: the loop over the lanes of a tile.
        places: loops whose iterations are tiles, the innermost first.
    """
    for total in accumulators(builder, nest):
        for _ in range(_sums_in(builder, total)):
            before, count = builder.checkpoint(), _sums_in(builder, total)
            buffer = next(
                (made for at in places if (made := builder.try_new_buffer("cache_write", total, at))), None
            )
            if buffer is None:
                break
            if _sums_in(builder, total) == count:  # a start alone was meant
                builder.rollback(before)
                break
            along = _dimension(builder, buffer, lane)
            for d, n in enumerate(buffer.shape):
                if integer(n) != 1:
                    builder.try_apply("vectorize" if d == along else "unroll", copy_loop(buffer, d))


def _dimension(builder: ScheduleBuilder, total: Tensor, loop: LoopHandle) -> int | None:
    """The dimension of a tensor, as it lies in memory, that terms are added to along a loop."""
    moving = {n.var for n in builder.loops(loop)}
    added = (s for s in stores(builder.kernel) if s.tensor.name == total.name and s.update is not None)
    return next((d for s in added for d, i in enumerate(s.indices) if moving & variables(i)), None)


def _sums_in(builder: ScheduleBuilder, total: Tensor) -> int:
    """In how many places terms are added to a tensor itself."""
    return sum(n.tensor.name == total.name and n.update is not None for n in stores(builder.kernel))
