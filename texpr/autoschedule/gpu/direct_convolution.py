"""Sums over windows on a GPU: a block computes some channels of a box of positions, its threads
keep their sums in registers.

One read (the weights) moves with a loop over the target that the other one (the field: an image)
does not move with, the channels; the field moves with others, the positions, which may be many and
short: convolutions of any rank, with strides, dilation and groups, and their gradients. In that of
the weights, the places of the window are the positions. A product whose rows and columns are long
is a matter of `gemm`. What a block reads of both for some of the terms lies in shared memory, of
the field the box around all its windows. Sums keep their order.

Source: Lavin, maxDNN: An Efficient Convolution Kernel for Deep Learning with Maxwell GPUs,
arXiv:1501.06633, 2015, for direct convolution by tiles of sums in registers over tiles in shared
memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.contraction import no_product
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.shared_memory import NOT_ON_BLOCKS, on_blocks, shared
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access, unclamped
from texpr.support.frozen_dataclass import frozen


@frozen
class _Part:
    """Tiling of one loop over positions: positions of each thread, threads; blocks have what is
    left.
    """

    loop: For
    each: int
    threads: int


@frozen
class _Windows:
    """The parts of a sum over windows: the loop over channels, those over positions (outermost
    first), the loops around; the two reads.
    """

    nest: Nest
    channel: For
    positions: tuple[For, ...]
    weights: Access
    field: Access

    @property
    def outer(self) -> list[For]:
        """Loops over the target that are neither."""
        return [
            n for n in self.nest.spatial if n is not self.channel and all(n is not p for p in self.positions)
        ]


class GpuConvolution:
    """Sums over windows: a block computes some channels of a box of positions."""

    name, stage = "GpuConvolution", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Windows | NoMatch:
        """The parts of the nest."""
        return _windows(nest)

    def apply(self, builder: ScheduleBuilder, match: _Windows) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _windows(nest: Nest) -> _Windows | NoMatch:
    if (wrong := no_product(nest)) is not None:
        return wrong
    if (
        any(integer(n.extent) is None for n in nest.reduction)
        or prod(map(extent, nest.reduction)) < GPU_COSTS.convolution_terms
    ):
        return NoMatch("few terms, or a number that only the call knows")
    found = [
        w for pair in (nest.accesses[1:], nest.accesses[:0:-1]) if (w := _parts(nest, *pair)) is not None
    ]
    return max(
        found, key=lambda w: (_slides(w), len(w.positions)), default=NoMatch("few channels or positions")
    )


def _parts(nest: Nest, weights: Access, field: Access) -> _Windows | None:
    """The parts, if the reads play these, and there is enough of all."""

    def alone(moving: Access, other: Access) -> list[For]:
        return [
            n
            for n in nest.spatial
            if moving.stride(n.var) != 0 and other.stride(n.var) == 0 and nest.accesses[0].stride(n.var)
        ]

    channel, positions = max(alone(weights, field), key=extent, default=None), alone(field, weights)
    if (
        channel is None
        or extent(channel) < GPU_COSTS.convolution_channels
        or prod(map(extent, positions)) < GPU_COSTS.convolution_positions
    ):
        return None
    return _Windows(nest, channel, tuple(positions), weights, field)


def _slides(w: _Windows) -> bool:
    """True if the field is read at a position plus a term of the sum."""
    forms = [linear(unclamped(i)) for i in w.field.indices]
    return any(
        any(f.coefficient(p.var) for p in w.positions) and any(f.coefficient(n.var) for n in w.nest.reduction)
        for f in forms
    )


def _cut_positions(w: _Windows) -> list[_Part]:
    """A box of positions: short loops whole in a thread, threads along the two innermost others,
    then some positions for each thread.
    """
    short, room = set[For](), GPU_COSTS.window_places
    for loop in reversed(w.positions):
        if _is_place(w, loop) and extent(loop) <= room and len(short) + 1 < len(w.positions):
            short.add(loop)
            room //= extent(loop)
    long = [n for n in reversed(w.positions) if n not in short][:2]
    threads: dict[For, int] = {}
    left = GPU_COSTS.position_threads
    for loop in long:
        most = left // 2 if loop is long[0] and len(long) > 1 and extent(long[1]) > 1 else left
        threads[loop] = min(most, _power(extent(loop)))
        left //= threads[loop]
    each = {loop: extent(loop) for loop in short}
    more = 1 if short else GPU_COSTS.thread_positions
    for loop in reversed(long):
        each[loop] = min(more, _power(-(-extent(loop) // threads[loop])))
        more //= each[loop]
    return [_Part(n, each.get(n, 1), threads.get(n, 1)) for n in w.positions]


def _is_place(w: _Windows, position: For) -> bool:
    """True if the position is an offset within a window: it stands beside a term of which there are
    more.
    """
    forms = [f for i in w.field.indices if (f := linear(unclamped(i))).coefficient(position.var)]
    return any(f.coefficient(n.var) and extent(n) > extent(position) for f in forms for n in w.nest.reduction)


def _power(n: int) -> int:
    """The smallest power of two that is not below."""
    return 1 << (n - 1).bit_length()


def _channels_each(w: _Windows, parts: list[_Part]) -> int:
    """Channels of a thread: fewer where it has many positions, where blocks are few, or channels
    themselves.
    """
    sums = prod(p.each for p in parts)
    blocks = prod(map(extent, w.outer)) * prod(-(-extent(p.loop) // (p.each * p.threads)) for p in parts)
    each = GPU_COSTS.thread_channels if sums <= GPU_COSTS.thread_positions else GPU_COSTS.thread_channels // 2
    while each > 1 and (
        extent(w.channel) <= each // 2 * GPU_COSTS.channel_threads
        or blocks * extent(w.channel) < GPU_COSTS.few_blocks * each * GPU_COSTS.channel_threads
        and each > GPU_COSTS.thread_channels // 2
    ):
        each //= 2
    return each


@frozen
class _ThreadLoop:
    """A loop over threads.

    Attributes:
        stride: of the target, along the loop that it was a part of.
        count: of threads.
    """

    stride: int
    loop: LoopHandle
    count: int


@dataclass(slots=True)
class _Cut:
    """The loops that those over the target become.

    Attributes:
        blocks: over blocks.
        threads: over threads.
        own: over what a thread has itself.
    """

    blocks: list[LoopHandle] = field(default_factory=list)
    threads: list[_ThreadLoop] = field(default_factory=list)
    own: list[LoopHandle] = field(default_factory=list)

    def cut(self, builder: ScheduleBuilder, loop: For, threads: int, each: int, stride: int) -> None:
        """Cut one loop.

        Args:
            stride: of the target: neighbours in memory go to neighbouring threads.
        """
        inside, tile = handle(loop), threads * each
        if tile == 1:
            self.blocks.append(inside)
            return
        if extent(loop) != tile or integer(loop.extent) is None:
            blocks, inside = builder.split(inside, tile, tail="pad")
            self.blocks.append(blocks)
        if 1 not in (threads, each):
            outer, inner = builder.split(inside, threads if stride == 1 else each, tail="exact")
            thread, own = (inner, outer) if stride == 1 else (outer, inner)
            self.own.append(own)
            self.threads.append(_ThreadLoop(stride, thread, threads))
        elif each > 1:
            self.own.append(inside)
        else:
            self.threads.append(_ThreadLoop(stride, inside, threads))


def _scheduled(builder: ScheduleBuilder, w: _Windows) -> Scheduled | NoMatch:
    parts, target = _cut_positions(w), w.nest.accesses[0]
    found = _Cut()
    for part in parts:
        found.cut(builder, part.loop, part.threads, part.each, target.stride(part.loop.var) or 0)
    positions, found.blocks = found.blocks, []
    each = _channels_each(w, parts)
    found.cut(builder, w.channel, GPU_COSTS.channel_threads, each, target.stride(w.channel.var) or 0)
    outer, tile = handles(w.outer), {p.loop: p.each * p.threads for p in parts}
    terms = _cut_terms(builder, w, tile | {w.channel: each * GPU_COSTS.channel_threads})
    threads = sorted(found.threads, key=lambda t: (t.stride, str(t.loop)), reverse=True)
    around = [*outer, *found.blocks, *positions, *terms.outside]
    builder.apply("reorder", *around, *(t.loop for t in threads), *terms.inside, *found.own)
    builder.try_apply("set_scope", target.tensor, "register")
    at = (terms.outside or positions or found.blocks or outer)[-1:]
    if not at:
        return NoMatch("a single tile, without a loop to copy at")
    counts = tuple(t.count for t in threads)
    for access, turned in ((w.field, False), (w.weights, w.weights.stride(w.channel.var) != 1)):
        rows = shared(builder, access, w.channel, at[0], counts, turned=turned)
        if not rows.try_pad(builder):
            return NoMatch("rows of a copy that cannot be padded")
    for axis, thread in zip("xyz", reversed(threads)):
        builder.apply("bind", thread.loop, f"thread.{axis}")
    _written_out(builder, found.own, terms.inside)
    if not on_blocks(builder, (positions, found.blocks, outer)):
        return NOT_ON_BLOCKS
    return Scheduled(positions or found.blocks)


@frozen
class _TermLoops:
    """The loops over terms, outside and inside of a tile."""

    outside: list[LoopHandle]
    inside: list[LoopHandle]


def _cut_terms(builder: ScheduleBuilder, w: _Windows, tile: dict[For, int]) -> _TermLoops:
    """Cut the loops over terms.

    Args:
        tile: how many iterations of loops over the target it has.
    """
    deep: list[LoopHandle] = []
    shallow: list[LoopHandle] = []
    for loop, n in _terms_of_tile(w, tile):
        if n == extent(loop):
            shallow.insert(0, handle(loop))
        elif n == 1:
            deep.insert(0, handle(loop))
        else:
            outside, inside = builder.split(loop, n)
            deep, shallow = [outside], [inside, *shallow]
    return _TermLoops(deep, shallow)


def _terms_of_tile(w: _Windows, tile: dict[For, int]) -> list[tuple[For, int]]:
    """The loops over terms, innermost first, and how many iterations of each a tile has: as many
    terms as there is memory for.
    """
    most = GPU_COSTS.tile_terms
    while True:
        found: list[tuple[For, int]] = []
        room = most
        for loop in reversed(w.nest.reduction):
            n = extent(loop) if extent(loop) <= room else even(extent(loop), room) if room > 1 else 1
            found.append((loop, n))
            room = room // n if n == extent(loop) else 1
        boxes = (_box(a, tile | dict(found)) * a.tensor.dtype.bytes for a in (w.field, w.weights))
        if sum(boxes) <= GPU_COSTS.tile_bytes or most == 1:
            return found
        most //= 2


def _box(access: Access, tile: dict[For, int]) -> int:
    """Elements of the box that a tile reads."""
    forms = (linear(unclamped(i)) for i in access.indices)
    return prod(
        1 + sum(abs(form.coefficient(loop.var)) * (n - 1) for loop, n in tile.items()) for form in forms
    )


def _written_out(builder: ScheduleBuilder, own: list[LoopHandle], terms: list[LoopHandle]) -> None:
    """The sums of a thread are registers, so their loops are written out; so are those over few
    terms, that values are used again.
    """
    count = 1
    for loop in reversed(terms + own):
        count *= extent(builder.loop(loop))
        if loop in own or count <= GPU_COSTS.unrolled_products:
            builder.try_apply("unroll", loop)
