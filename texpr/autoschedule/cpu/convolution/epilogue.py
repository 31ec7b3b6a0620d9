"""The ends of sums whose lanes lie apart in the target: what is done to a sum when it is complete,
and where it is written.

Lanes go across channels, and neighbours in memory are positions. Written so, every lane would touch
a line of its own, and so would every lane of what the end reads beside the sum (the tensor of a
mask, a summand). Instead, a row of positions is collected in a buffer in which lanes are
neighbours, and squares of it are transposed in registers on the way out; what the end reads comes
in the same way: rows that lie far apart, which no hardware foresees, so that each row of positions
asks for those of the next one where they come from memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, copy_loops
from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.gemm.packing import transpose_in_registers
from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.traverse import variables, walk
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen


@frozen
class Crossed:
    """A tensor that lies along positions where lanes are channels.

    Attributes:
        lane, x: its dimensions along which lanes and positions are.
        written: whether it is the target.
    """

    tensor: Tensor
    lane: int
    x: int
    written: bool


def crossed(builder: ScheduleBuilder, nest: Nest, lane: For, x: For) -> list[Crossed]:
    """Accesses of an epilogue across its lanes, the target first; nothing if the sums have no end
    of their own.
    """
    ends = [
        s
        for s in stores(builder.kernel)
        if s.equation == nest.main.equation and s.update is None and not s.is_start
    ]
    if len(ends) != 1 or ends[0].tensor is nest.main.tensor:
        return []
    used = {a.tensor for a in nest.accesses}
    found = [_crossed(a, lane, x, k == 0) for k, a in enumerate(_accesses(ends[0], used))]
    once = [
        c for c in found if c is not None and sum(a.tensor is c.tensor for a in _accesses(ends[0], used)) == 1
    ]
    return once if once and once[0].written else []


def _accesses(end: Store, used: Collection[Tensor]) -> Iterator[Access]:
    yield Access(end.tensor, end.indices)
    for n in walk(end.value):
        if isinstance(n, Read) and n.tensor not in used:
            yield Access(n.tensor, n.indices)


def _crossed(access: Access, lane: For, x: For, written: bool) -> Crossed | None:
    lanes, along = ([d for d, i in enumerate(access.indices) if n.var in variables(i)] for n in (lane, x))
    if (
        len(lanes) != 1
        or len(along) != 1
        or lanes == along
        or access.stride(lane.var) in (0, 1, None)
        or access.stride(x.var) != 1
    ):
        return None
    return Crossed(access.tensor, lanes[0], along[0], written)


def transpose_ends(
    builder: ScheduleBuilder, tensors: Sequence[Crossed], row: LoopHandle, tile: LoopHandle | None
) -> None:
    """Turn what the end of the sums writes and reads: whole rows of positions, or tiles of rows that
    the second cache does not hold.

    Args:
        row: the loop of which an iteration holds whole rows.
        tile: the loop over tiles of a row, if it has several.
    """
    for each in tensors:
        at = next((n for n in (row, tile) if n is not None and _turn(builder, each, n)), None)
        if at is None and each.written:
            return
        if at is not None and not each.written and bytes_of(each.tensor) > builder.l2_budget > 0:
            builder.try_apply("prefetch", each.tensor, at, 1)


def _turn(builder: ScheduleBuilder, each: Crossed, at: LoopHandle) -> bool:
    """Turn what lies across lanes in an iteration of a loop; True if that was possible."""
    before = builder.checkpoint()
    buffer = builder.try_new_buffer("cache_write" if each.written else "cache_read", each.tensor, at)
    if buffer is not None and _turned(builder, each, buffer):
        return True
    builder.rollback(before)
    return False


def _turned(builder: ScheduleBuilder, each: Crossed, buffer: Tensor) -> bool:
    """The loops between a tensor and its buffer as squares; True if that was possible."""
    sizes = [integer(n) or 0 for n in buffer.shape]
    most = builder.machine.caches[:2][-1] // CONVOLUTION_COSTS.epilogue_row_l2_fraction
    if not 0 < prod(sizes) * buffer.dtype.bytes <= most:
        return False
    extents = [*sizes]
    if (lanes := integer(each.tensor.shape[each.lane]) or 0) % sizes[each.lane]:
        # Some lanes of the last tile are idle.
        extents[each.lane] = lanes
        builder.try_apply("partition", copy_loop(buffer, each.lane))
    others = [d for d, n in enumerate(sizes) if n > 1 and d not in (each.lane, each.x)]
    last = (each.x, each.lane) if each.written else (each.lane, each.x)
    return transpose_in_registers(
        builder,
        buffer,
        layout_with_last_dim(buffer, each.lane),
        copy_loops(buffer, (*others, *last)),
        extents=[extents[d] for d in last],
    )
