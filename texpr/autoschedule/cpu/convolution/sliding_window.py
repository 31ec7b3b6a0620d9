"""Sums over windows of a field, and their parts."""

from __future__ import annotations

from enum import Enum
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, window_loops
from texpr.autoschedule.core.template import NO_REDUCTION, UNKNOWN_EXTENTS, NoMatch
from texpr.autoschedule.cpu.convolution import register_tiling
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access, unclamped
from texpr.support.frozen_dataclass import frozen


class ChannelLayout(Enum):
    """Layout of the lanes of a convolution, its channels, in the target."""

    LAST = "last"
    """Neighbours in memory: channels come last, or blocks of them do."""
    FIRST = "first"
    """Apart, and so do terms in the input: positions are neighbours."""


@frozen
class Window:
    """The parts of a sum over windows.

    Attributes:
        lane: the loop whose iterations are lanes.
        x, y: loops over positions, `x` the one with neighbours in memory; `y` may not be there.
        groups: loops along which both reads move, such as groups of channels.
        channel_blocks: other loops along which the weights move, such as blocks of lanes.
        images: the other loops that share the weights.
        weights, input: the two reads.
        layout: where channels lie in the target; copies have them last.
        offsets: loops over terms that lie within the window.
        guarded: whether the field is read beyond its edges.
        width: iterations of `lane` in a tile of registers.
        height: positions in it: of `x`, of `y`.
        taps: the loop over terms that is copied for each of its iterations, if one is.
    """

    nest: Nest
    lane: For
    x: For
    y: For | None
    groups: tuple[For, ...]
    channel_blocks: tuple[For, ...]
    images: tuple[For, ...]
    weights: Access
    input: Access
    layout: ChannelLayout
    offsets: tuple[For, ...]
    guarded: bool
    width: int
    height: tuple[int, int]
    taps: For | None

    @property
    def channels_first(self) -> bool:
        """True if neighbouring channels lie apart in the target."""
        return self.layout is ChannelLayout.FIRST

    @property
    def positions(self) -> tuple[For, ...]:
        """The loops over positions, outermost first."""
        return (self.x,) if self.y is None else (self.y, self.x)

    @property
    def weights_bytes(self) -> int:
        """Bytes of the weights that all positions use."""
        moving = (
            n
            for n in (self.lane, *self.channel_blocks, *self.nest.reduction)
            if self.weights.stride(n.var) != 0
        )
        return prod(map(constant_extent, moving)) * self.weights.tensor.dtype.bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of the input that a row of positions uses, where windows that overlap use the same."""
        moving = [n for n in self.nest.reduction if n not in self.offsets and self.input.stride(n.var) != 0]
        steps = prod(register_tiling.position_step(self.input, n) for n in self.positions)
        return steps * prod(map(constant_extent, (self.x, *moving))) * self.input.tensor.dtype.bytes


def find_window(builder: ScheduleBuilder, nest: Nest) -> Window | NoMatch:
    """The parts of a nest, if it adds up over a window that slides."""
    if not nest.reduction or nest.main.update is None:
        return NO_REDUCTION
    lanes = builder.vector_lanes(nest)
    if nest.recurrent or not builder.machine.caches:
        return NoMatch("a recurrence, or caches that are not known")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    parts = _first_parts(nest, lanes) or _channel_lanes(builder, nest, lanes)
    if parts is None:
        return NoMatch("no operand moves with vectors of elements and another one with positions plus terms")
    lane, weights, image = parts
    others = [n for n in nest.spatial if n is not lane]
    shared = [n for n in others if weights.stride(n.var) == 0]
    sliding = [n for n in shared if window_loops(nest, image, [n])][-2:]
    positions = sliding or [n for n in shared if image.stride(n.var) == 1]
    if prod(map(constant_extent, positions)) == 1:
        return NoMatch("a window that does not slide")
    groups, channel_blocks = (
        [n for n in others if n not in shared and (image.stride(n.var) == 0) is still]
        for still in (False, True)
    )
    guarded = any(boundary_iterations(nest, n) != (0, 0) for n in positions)
    layout = ChannelLayout.LAST if nest.accesses[0].stride(lane.var) == 1 else ChannelLayout.FIRST
    masked = guarded or layout is ChannelLayout.FIRST
    width, height, taps = _tile(builder, nest, image, positions, constant_extent(lane), masked)
    images = tuple(n for n in shared if n not in positions)
    return Window(
        nest,
        lane,
        positions[-1],
        positions[0] if len(positions) > 1 else None,
        tuple(groups),
        tuple(channel_blocks),
        images,
        weights,
        image,
        layout,
        tuple(window_loops(nest, image, positions)),
        guarded,
        width,
        height,
        taps,
    )


def _tile(
    builder: ScheduleBuilder, nest: Nest, image: Access, positions: list[For], channels: int, masked: bool
) -> tuple[int, tuple[int, int], For | None]:
    """Lanes and positions of a tile, and the loop over a row of the window whose values all stay in
    registers, if they do.

    Args:
        masked: rows of the image are read under masks, or from a copy.
    """
    lanes, machine = builder.vector_lanes(nest), builder.machine
    width = register_tiling.tile_width(channels, lanes)
    values = 1 if machine.has_memory_operands else CONVOLUTION_COSTS.value_registers
    most = max(1, (machine.vector_registers - values) // (width // lanes) - 1)
    if not masked:
        most = min(most, register_tiling.most_rows(image, positions[-1]))
    sizes = constant_extent(positions[-1]), constant_extent(positions[0]) if len(positions) > 1 else 1
    height = register_tiling.tile_height(most, *sizes)
    taps = register_tiling.last_taps(nest, image, positions[-1]) if machine.has_memory_operands else None
    step = register_tiling.position_step(image, positions[-1])
    tile = taps and register_tiling.tile_with_taps(
        machine.vector_registers, width // lanes, sizes, step, constant_extent(taps)
    )
    return (width, height, None) if tile is None else (tile[0] * lanes, tile[1], taps)


def _windows_overlap(nest: Nest, image: Access, position: For) -> bool:
    """True if windows at neighbouring positions overlap: those of `2*r + p` for two values of p do
    not.
    """
    forms = [linear(unclamped(i)) for i in image.indices]
    return any(
        abs(form.coefficient(position.var)) * (constant_extent(position) - 1) >= abs(form.coefficient(n.var))
        for n in window_loops(nest, image, [position])
        for form in forms
        if form.coefficient(position.var) and form.coefficient(n.var)
    )


def _first_parts(nest: Nest, lanes: int) -> tuple[For, Access, Access] | None:
    """The parts by the first loop that can be that over lanes, those first that walk along rows."""
    for n in sorted(nest.spatial, key=lambda n: nest.accesses[0].stride(n.var) != 1):
        if constant_extent(n) >= lanes > 1 and (parts := _parts(nest, n)) is not None:
            return parts
    return None


def _channel_lanes(builder: ScheduleBuilder, nest: Nest, lanes: int) -> tuple[For, Access, Access] | None:
    """The parts of a product of constant weights with few positions, which would leave many lanes
    without work: 49 take four vectors of 16. Lanes go across channels then, of which there are many.
    Few registers hold too few positions for that.
    """
    along = nest.contiguous(lanes)
    machine = builder.machine
    if along is None or len(nest.accesses) != 3 or machine.vector_registers < 32 or machine.scalable_bytes:
        return None
    idle = -constant_extent(along) % lanes
    if idle * CONVOLUTION_COSTS.idle_position_lanes <= constant_extent(along):
        return None
    _, first, second = nest.accesses
    orders = [(lane, *reads) for lane in nest.spatial for reads in ((first, second), (second, first))]
    return next((o for o in orders if _is_pointwise(builder, *o, along, lanes)), None)


def _is_pointwise(
    builder: ScheduleBuilder, lane: For, weights: Access, image: Access, along: For, lanes: int
) -> bool:
    """True if weights stay along positions and these along channels, and whole vectors of channels
    are many.
    """
    size = constant_extent(lane)
    return (
        builder.is_constant(weights.tensor)
        and weights.stride(along.var) == image.stride(lane.var) == 0
        and weights.stride(lane.var) not in (0, None)
        and image.stride(along.var) == 1
        and size >= CONVOLUTION_COSTS.channel_lanes * lanes
        and size % register_tiling.tile_width(size, lanes) == 0
    )


def _parts(nest: Nest, lane: For) -> tuple[For, Access, Access] | None:
    """The weights and the image, where the loop can be that over lanes: neighbours in weights and
    target, or both are worth a copy.
    """
    moving = [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    staying = [a for a in nest.accesses[1:] if a.stride(lane.var) == 0]
    if len(moving) != 1 or len(staying) != 1:
        return None
    weights, image = moving[0], staying[0]
    if not any(_windows_overlap(nest, image, n) for n in nest.spatial if weights.stride(n.var) == 0):
        return None
    if nest.accesses[0].stride(lane.var) == 1:
        return (lane, weights, image) if weights.stride(lane.var) == 1 else None
    offsets = window_loops(nest, image, nest.spatial)
    skipping = any(
        image.stride(n.var) not in (0, 1, None) and register_tiling.position_step(image, n) > 1
        for n in nest.spatial
        if n is not lane
    )
    worth = (skipping or prod(map(constant_extent, offsets)) > 1) and prod(
        map(constant_extent, nest.reduction)
    ) >= CONVOLUTION_COSTS.channel_lanes_terms
    return (lane, weights, image) if worth else None
