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

from dataclasses import dataclass
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.contraction import no_product
from texpr.autoschedule.gpu.shared_memory import on_blocks, shared
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access, unclamped
from texpr.schedule.structure.loops import qualified

LEAST_CHANNELS = 8
LEAST_POSITIONS = 32
LEAST_TERMS = 8
POSITION_THREADS, CHANNEL_THREADS = 32, 8
POSITIONS_EACH, CHANNELS_EACH = 4, 8
"""Sums of a thread, if there are enough blocks."""
FEW_BLOCKS = 128
"""Blocks below which smaller ones keep more processors busy."""
TERMS = 64
"""Terms of a tile, at most."""
SHARED_BYTES = 32 << 10
"""Of a tile, at most: several blocks run at once."""
MOST_PRODUCTS = 320
"""Products of a thread that are written out."""
MOST_SHORT = 25
"""Places of a window that a thread may have all of, which then share what they read."""


@dataclass(frozen=True, slots=True)
class _Part:
    """How one loop over positions is cut: positions of each thread, threads; blocks have what is
    left.
    """

    loop: For
    each: int
    threads: int


@dataclass(frozen=True, slots=True)
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

    def apply(self, builder: ScheduleBuilder, match: _Windows) -> Scheduled | None:
        """The steps, or None where one is refused."""
        return Scheduled.of(_scheduled(builder, match))


def _windows(nest: Nest) -> _Windows | NoMatch:
    if (wrong := no_product(nest)) is not None:
        return wrong
    if (
        any(integer(n.extent) is None for n in nest.reduction)
        or prod(map(extent, nest.reduction)) < LEAST_TERMS
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
    if channel is None or extent(channel) < LEAST_CHANNELS or prod(map(extent, positions)) < LEAST_POSITIONS:
        return None
    return _Windows(nest, channel, tuple(positions), weights, field)


def _slides(w: _Windows) -> bool:
    """Whether the field is read at a position plus a term of the sum."""
    forms = [linear(unclamped(i)) for i in w.field.indices]
    return any(
        any(f.coefficient(p.var) for p in w.positions) and any(f.coefficient(n.var) for n in w.nest.reduction)
        for f in forms
    )


def _cut_positions(w: _Windows) -> list[_Part]:
    """A box of positions: short loops whole in a thread, threads along the two innermost others,
    then some positions for each thread.
    """
    short, room = set[For](), MOST_SHORT
    for loop in reversed(w.positions):
        if _is_place(w, loop) and extent(loop) <= room and len(short) + 1 < len(w.positions):
            short.add(loop)
            room //= extent(loop)
    long = [n for n in reversed(w.positions) if n not in short][:2]
    threads: dict[For, int] = {}
    left = POSITION_THREADS
    for loop in long:
        most = left // 2 if loop is long[0] and len(long) > 1 and extent(long[1]) > 1 else left
        threads[loop] = min(most, _power(extent(loop)))
        left //= threads[loop]
    each = {loop: extent(loop) for loop in short}
    more = 1 if short else POSITIONS_EACH
    for loop in reversed(long):
        each[loop] = min(more, _power(-(-extent(loop) // threads[loop])))
        more //= each[loop]
    return [_Part(n, each.get(n, 1), threads.get(n, 1)) for n in w.positions]


def _is_place(w: _Windows, position: For) -> bool:
    """Whether the position is a place of a window: it stands beside a term of which there are
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
    each = CHANNELS_EACH if sums <= POSITIONS_EACH else CHANNELS_EACH // 2
    while each > 1 and (
        extent(w.channel) <= each // 2 * CHANNEL_THREADS
        or blocks * extent(w.channel) < FEW_BLOCKS * each * CHANNEL_THREADS
        and each > CHANNELS_EACH // 2
    ):
        each //= 2
    return each


@dataclass(slots=True)
class _Cut:
    """Names of what loops over the target became: loops over blocks, over threads, over what a
    thread has itself.
    """

    blocks: list[str]
    threads: list[tuple[int, str, int]]
    own: list[str]

    def cut(self, builder: ScheduleBuilder, loop: For, threads: int, each: int, stride: int) -> bool:
        """Cut one loop; whether that was possible. `stride` is that of the target: neighbours in
        memory go to neighbouring threads.
        """
        name, tile = qualified(loop), threads * each
        if tile == 1:
            self.blocks.append(name)
            return True
        if extent(loop) != tile or integer(loop.extent) is None:
            found = builder.split(name, tile, tail="pad")
            if found is None:
                return False
            self.blocks.append(found[0])
            name = found[1]
        if 1 not in (threads, each):
            found = builder.split(name, threads if stride == 1 else each, tail="exact")
            if found is None:
                return False
            thread, own = found[::-1] if stride == 1 else found
            self.own.append(own)
            self.threads.append((stride, thread, threads))
        elif each > 1:
            self.own.append(name)
        else:
            self.threads.append((stride, name, threads))
        return True


def _scheduled(builder: ScheduleBuilder, w: _Windows) -> list[str] | None:
    parts, target = _cut_positions(w), w.nest.accesses[0]
    found = _Cut([], [], [])
    for part in parts:
        if not found.cut(builder, part.loop, part.threads, part.each, target.stride(part.loop.var) or 0):
            return None
    positions, found.blocks = found.blocks, []
    each = _channels_each(w, parts)
    if not found.cut(builder, w.channel, CHANNEL_THREADS, each, target.stride(w.channel.var) or 0):
        return None
    outer = [qualified(n) for n in w.outer]
    terms = _cut_terms(
        builder, w, {p.loop: p.each * p.threads for p in parts} | {w.channel: each * CHANNEL_THREADS}
    )
    threads = sorted(found.threads, reverse=True)
    if terms is None or not builder.try_apply(
        "reorder",
        *outer,
        *found.blocks,
        *positions,
        *terms[0],
        *(name for _, name, _ in threads),
        *terms[1],
        *found.own,
    ):
        return None
    builder.try_apply("set_scope", target.tensor.name, "register")
    counts = tuple(n for _, _, n in threads)
    around = terms[0] or positions or found.blocks or outer
    if not around:
        return None  # one tile is all there is: no loop to copy at
    at = around[-1]
    for access, turned in ((w.field, False), (w.weights, w.weights.stride(w.channel.var) != 1)):
        rows = shared(builder, access, w.channel, at, counts, turned=turned)
        if rows is None or not rows.step(builder):
            return None
    for axis, (_, name, _) in zip("xyz", reversed(threads)):
        if not builder.try_apply("bind", name, f"thread.{axis}"):
            return None
    _written_out(builder, found.own, terms[1])
    return positions or found.blocks if on_blocks(builder, (positions, found.blocks, outer)) else None


def _cut_terms(
    builder: ScheduleBuilder, w: _Windows, tile: dict[For, int]
) -> tuple[list[str], list[str]] | None:
    """Names of the loops over terms outside and inside of a tile; `tile` says how many
    iterations of loops over the target it has.
    """
    deep: list[str] = []
    shallow: list[str] = []
    for loop, n in _terms_of_tile(w, tile):
        name = qualified(loop)
        if n == extent(loop):
            shallow.insert(0, name)
        elif n == 1:
            deep.insert(0, name)
        else:
            cut = builder.split(name, n)
            if cut is None:
                return None
            deep, shallow = [cut[0]], [cut[1], *shallow]
    return deep, shallow


def _terms_of_tile(w: _Windows, tile: dict[For, int]) -> list[tuple[For, int]]:
    """The loops over terms, innermost first, and how many iterations of each a tile has: as many
    terms as there is memory for.
    """
    most = TERMS
    while True:
        found: list[tuple[For, int]] = []
        room = most
        for loop in reversed(w.nest.reduction):
            n = extent(loop) if extent(loop) <= room else even(extent(loop), room) if room > 1 else 1
            found.append((loop, n))
            room = room // n if n == extent(loop) else 1
        boxes = (_box(a, tile | dict(found)) * a.tensor.dtype.bytes for a in (w.field, w.weights))
        if sum(boxes) <= SHARED_BYTES or most == 1:
            return found
        most //= 2


def _box(access: Access, tile: dict[For, int]) -> int:
    """Elements of the box that a tile reads."""
    forms = (linear(unclamped(i)) for i in access.indices)
    return prod(
        1 + sum(abs(form.coefficient(loop.var)) * (n - 1) for loop, n in tile.items()) for form in forms
    )


def _written_out(builder: ScheduleBuilder, own: list[str], terms: list[str]) -> None:
    """The sums of a thread are registers, so their loops are written out; so are those over few
    terms, that values are used again.
    """
    count = 1
    for name in reversed(terms + own):
        count *= extent(builder.loop(name))
        if name in own or count <= MOST_PRODUCTS:
            builder.try_apply("unroll", name)
