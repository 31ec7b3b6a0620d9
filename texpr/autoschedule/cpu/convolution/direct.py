"""Sums over windows of a field, such as convolutions: a tile of positions and lanes keeps its sums
in registers.

One read (the panel: weights) moves with the vector loop and stays along the positions; another (the
field: an image) is read at a position plus an offset, which is a term of the sum, and stays along
the lanes. What the field gives beyond its edges is written into a copy, so that the loops inside
need no conditions; where these are many terms, they are left out, by loops of their own for the
edges, and the field is read where it lies. A panel that the second cache holds is walked along for
every few positions, or the field for every few lanes, whichever moves less memory; a larger one
comes in blocks of terms, each used by all positions. Of rows, and of a line that the second cache does
not hold, blocks are copied to it. Sums keep their order.

Source: Georganas et al., Anatomy of High-Performance Deep Learning Convolutions on SIMD
Architectures, SC 2018.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, copy_loops, handle, handles
from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.core.nest import Nest, constant_extent, window_loops
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.convolution import register_tiling
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.convolution.epilogue import crossed, transpose_ends
from texpr.autoschedule.cpu.convolution.sliding_window import Window, find_window
from texpr.autoschedule.cpu.finishing.partition_triangles import without_edges
from texpr.autoschedule.cpu.gemm.packed import in_pairs
from texpr.autoschedule.cpu.gemm.packing import (
    ALIAS,
    LINE,
    accumulate_in_registers,
    accumulators,
    pack_panels,
    through_rows,
    transpose_in_registers,
)
from texpr.autoschedule.cpu.gemm.work_split import fair_blocks
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import unclamped
from texpr.support.frozen_dataclass import frozen


@frozen
class _OuterLoops:
    """Loops around the sums.

    Attributes:
        blocks: over blocks of rows, or of positions of a single line, or of lanes where the weights are
            large.
        lane_tiles: over tiles of lanes.
        rows: over positions, uncut, `y` before `x`.
        lane: over the lanes of a tile.
        cut_lanes: true if the lanes were cut, so that a row of the weights holds several tiles.
    """

    blocks: list[LoopHandle]
    lane_tiles: list[LoopHandle]
    rows: list[LoopHandle]
    lane: LoopHandle
    cut_lanes: bool


class DirectConvolution:
    """Sums over windows of a field: a tile of positions and lanes keeps its sums in registers."""

    name, stage = "DirectConvolution", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Window | NoMatch:
        """The parts of the nest."""
        return find_window(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: Window) -> Scheduled:
        """The steps."""
        return _scheduled(builder, match)


def terms_outside(builder: ScheduleBuilder, nest: Nest) -> list[LoopHandle]:
    """Loops over a window's terms along which so many lie outside of the field that loops
    without them are worth their code.
    """
    w = find_window(builder, nest)
    if isinstance(w, NoMatch) or not w.guarded or w.input.tensor.dtype != nest.main.tensor.dtype:
        return []
    return handles(n for n in w.offsets if _worth_leaving_out(w, n, _by_terms(builder, w)))


def _worth_leaving_out(w: Window, term: For, in_blocks: bool) -> bool:
    """True if many terms along a loop lie outside of the input, and the loops that know which are
    few: those over terms themselves, or over tiles of positions in which iterations over terms are
    written out. Tiles whose sums come in blocks of terms are not told apart.
    """
    position, height = next(
        (p, h) for p, h in zip(reversed(w.positions), w.height) if term in window_loops(w.nest, w.input, [p])
    )
    if height < constant_extent(position) and (
        in_blocks or (1 < height and position is w.x and term is not w.taps)
    ):
        return False
    return register_tiling.share_outside(w.input, term, w.nest) >= (
        CONVOLUTION_COSTS.outside_share if height == 1 else CONVOLUTION_COSTS.outside_share_copied
    )


def _scheduled(builder: ScheduleBuilder, w: Window) -> Scheduled:
    ends = crossed(builder, w.nest, w.lane, w.x) if w.channels_first else []
    large = _by_terms(builder, w)
    loops = _cut_outer_loops(builder, w, large)
    in_blocks = large and (loops.cut_lanes or not loops.lane_tiles)
    deep, shallow = _depths(builder, w) if in_blocks else ([], handles(w.nest.reduction))
    images = handles(w.images)
    block, once = _image_block(builder, w, images) if _is_packed(w, loops) and not large else (None, False)
    outer = [
        *handles(w.groups),
        *([] if large else images),
        *(loops.blocks or (_for_each_core(builder, images) if large else [])),
    ]
    if not outer:  # a single image: its copy stands in a loop over a single block of rows
        block_of_all, loops.rows[0] = builder.split(loops.rows[0], constant_extent(w.positions[0]))
        outer = [block_of_all]
    panels_first = large or _panels_first(builder, w)
    middle = (
        [*loops.lane_tiles, *(images if large else []), *loops.rows]
        if panels_first
        else [*loops.rows, *loops.lane_tiles]
    )
    builder.apply("reorder", *outer, *deep, *middle, *shallow, loops.lane)
    single = {handle(n) for n in w.nest.spatial if constant_extent(n) == 1}
    shared = [n for n in outer if n not in single and not (once and n == block)]
    parts_of_lines = w.y is None and bool(loops.blocks) and not large
    if w.guarded or parts_of_lines or (w.channels_first and not _has_contiguous_positions(w)):
        _copied(builder, w, outer[-1], not shared)
    if _is_packed(w, loops):
        inside = (
            (outer + deep)[-1] if deep or not panels_first or not loops.lane_tiles else loops.lane_tiles[-1]
        )
        whole = images[-1] if images and loops.blocks and not large else None
        alone = prod(map(constant_extent, w.images)) == 1 and (whole is not None or not w.images)
        _packed(builder, w, block or whole or inside, (once or alone) and not w.groups)
    tiles, x_tiles = _in_tiles(builder, w, loops, middle, shallow)
    if w.channels_first:
        for total in accumulators(builder, w.nest):
            _last(
                builder,
                total,
                next(d for d, i in enumerate(w.nest.main.indices) if w.lane.var in variables(i)),
            )
        transpose_ends(builder, ends, _loop_around_row(tiles, x_tiles, outer), x_tiles)
    if deep:
        accumulate_in_registers(builder, w.nest, loops.lane, [*reversed(tiles)])
    if w.taps is not None:
        builder.try_apply("unroll", w.taps)
    elif not builder.machine.has_indexed_fma:
        shallow[-1] = in_pairs(builder, shallow[-1])
    builder.try_apply("vectorize", loops.lane)
    without_edges(builder, [*(n for n in tiles if n not in (*loops.lane_tiles, *images)), *shallow])
    return Scheduled(shared if large else [*shared, *(n for n in tiles if n not in single)])


def _by_terms(builder: ScheduleBuilder, w: Window) -> bool:
    """True if the packed weights come in blocks of terms, each used by all positions of all images,
    rather than whole for each block of rows.

    That moves less memory where the second cache does not hold a tile of lanes, or few positions
    would use what comes each time. Constant weights are packed whole, once.
    """
    tiles = _lane_tiles(w)
    if builder.is_constant(w.weights.tensor):
        return False
    if tiles == 1:
        return w.channels_first and bool(w.images) and w.weights_bytes > builder.l2_budget
    if prod(map(constant_extent, w.positions)) < CONVOLUTION_COSTS.packing_positions:
        return True
    if w.weights_bytes <= builder.l2_budget or w.weights_bytes // tiles > builder.l2_budget:
        return w.weights_bytes > builder.l2_budget
    groups, images = (prod(map(constant_extent, loops)) for loops in (w.groups, w.images))
    rows, blocks = (1, 1) if w.y is None else (constant_extent(w.y), _row_blocks(builder, w))
    sums = prod(map(constant_extent, w.nest.spatial)) * w.nest.main.tensor.dtype.bytes
    by_terms = groups * (
        _moved(builder, images * rows * w.row_bytes, tiles) + _moved(builder, w.weights_bytes, 1)
    )
    by_terms += _moved(builder, sums, 2 * -(-w.weights_bytes // builder.l2_budget))
    by_rows = (
        groups
        * images
        * (
            _moved(builder, rows * w.row_bytes // blocks, tiles * blocks)
            + _moved(builder, w.weights_bytes, blocks)
        )
    )
    return by_terms < by_rows


def _moved(builder: ScheduleBuilder, size: int, times: int) -> int:
    """Cost of reading so many bytes so often."""
    return size * times * (1 if size <= builder.l2_budget else CONVOLUTION_COSTS.beyond_l2)


def _for_each_core(builder: ScheduleBuilder, images: list[LoopHandle]) -> list[LoopHandle]:
    """Cut the last of the loops that share the panel into a block for each core, which copies
    the panel for itself; the loop over the blocks.
    """
    if not images:
        return []
    cut = builder.try_split(
        images[-1], -(-constant_extent(builder.loop(images[-1])) // builder.machine.cores), tail="clip"
    )
    if cut is None:
        return []
    images[-1:] = [cut[1]]
    return [cut[0]]


def _image_block(
    builder: ScheduleBuilder, w: Window, images: list[LoopHandle]
) -> tuple[LoopHandle | None, bool]:
    """Cut the last of the loops that share the panel, so that a copy of it serves many images, or
    all where they are few.

    The outer part, None if it is not cut, and True if that is a single block.
    """
    cores, count = builder.machine.cores, constant_extent(w.images[-1]) if w.images else 0
    once = 1 < count < 4 * cores and len(w.images) == 1
    if not once and count < 4 * cores:
        return None, False
    size = count if once else max(fair_blocks(count, -(-count // (2 * cores)), cores))
    cut = builder.try_split(images[-1], size, tail="clip")
    if cut is None:
        return None, False
    images[-1:] = cut
    return cut[0], once


def _in_tiles(
    builder: ScheduleBuilder,
    w: Window,
    loops: _OuterLoops,
    middle: list[LoopHandle],
    shallow: list[LoopHandle],
) -> tuple[list[LoopHandle], LoopHandle | None]:
    """Cut the positions into tiles that stand inside the terms; the loops of `middle` then, and the
    one of them over tiles along `x`, if there are several.

    This comes last: what is left over of rows stays under the loops that have copies, and uses
    them.
    """
    inside: list[LoopHandle] = []
    tiles, cut = list(middle), list[LoopHandle | None]()
    for row, height in zip(reversed(loops.rows), w.height):
        outer, inner = builder.split_if_longer(row, height) if height > 1 else (row, None)
        at = tiles.index(row)
        tiles[at : at + 1] = [outer] if outer else []
        inside = [inner, *inside] if inner else inside
        cut.append(outer)
    first = min(map(middle.index, loops.rows))
    if builder.try_apply("reorder", *tiles[first:], *shallow, *inside, loops.lane):
        for loop in inside:
            builder.try_apply("unroll", loop)
    return tiles, cut[0]


def _loop_around_row(
    tiles: list[LoopHandle], x_tiles: LoopHandle | None, outer: list[LoopHandle]
) -> LoopHandle:
    """The loop an iteration of which holds whole rows of positions, and few of them."""
    return [*outer, *tiles[: len(tiles) if x_tiles is None else tiles.index(x_tiles)]][-1]


def _cut_outer_loops(builder: ScheduleBuilder, w: Window, large: bool) -> _OuterLoops:
    """Cut the lanes into tiles, and what is large into blocks."""
    lane_tiles, lane = builder.split_if_longer(w.lane, w.width, "mask")
    lanes = [*handles(w.channel_blocks), *filter(None, [lane_tiles])]
    rows, blocks = handles(w.positions), list[LoopHandle]()
    if large and lanes:
        # One block for each core; a loop over a single block is where the copy of the field stands.
        count = (
            constant_extent(w.channel_blocks[0]) if w.channel_blocks else constant_extent(w.lane) // w.width
        )
        if (
            cut := builder.try_split(lanes[0], max(1, -(-count // builder.machine.cores)), tail="clip")
        ) is not None:
            blocks, lanes[0] = [cut[0]], cut[1]
    elif w.y is not None:
        y_blocks, rows[0] = builder.split_if_longer(rows[0], _block_rows(builder, w), "clip")
        blocks = [y_blocks] if y_blocks else []
    elif not large and w.row_bytes > builder.l2_budget:
        x_blocks, rows[0] = builder.split_if_longer(rows[0], _block_positions(builder, w), "peel")
        blocks = [x_blocks] if x_blocks else []
    return _OuterLoops(blocks, lanes, rows, lane, lane_tiles is not None)


def _block_rows(builder: ScheduleBuilder, w: Window) -> int:
    """Rows of a block: whole tiles, of which no core has many more than others; all rows if one
    block is enough.
    """
    assert w.y is not None
    rows, tile, blocks = constant_extent(w.y), w.height[1], _row_blocks(builder, w)
    if blocks == 1:
        return rows
    most = -(-rows // blocks)
    return max(fair_blocks(-(-rows // tile), -(-most // tile), builder.machine.cores)) * tile


def _block_positions(builder: ScheduleBuilder, w: Window) -> int:
    """Positions of a block along a single line: whole tiles, whose field the second cache holds."""
    tiles = -(-constant_extent(w.x) // w.height[0])
    most = max(1, builder.l2_budget * tiles // w.row_bytes)
    return max(fair_blocks(tiles, most, builder.machine.cores)) * w.height[0]


def _row_blocks(builder: ScheduleBuilder, w: Window) -> int:
    """Blocks of rows, so many that the field of each stays in the second cache, and that all cores
    have work if nothing else gives it: tiles of lanes do, unless one core copied a field with edges
    for all of them, or a further loop takes an address that there is not.
    """
    assert w.y is not None
    rows, wanted = constant_extent(w.y), 2 * builder.machine.cores
    fitting = -(-rows * w.row_bytes // builder.l2_budget)
    addresses = builder.machine.address_registers >= CONVOLUTION_COSTS.address_registers
    apart = w.guarded and builder.machine.cores > 1 and addresses
    lanes = 1 if apart else _lane_tiles(w)
    busy = max(prod(map(constant_extent, (*w.groups, *w.images))), lanes) >= wanted
    step = register_tiling.position_step(w.input, w.y)
    overlaps = -(
        -CONVOLUTION_COSTS.block_overlaps * (register_tiling.reach(w.input, w.y, w.offsets) - step) // step
    )
    least = max(1, min(CONVOLUTION_COSTS.block_rows, overlaps))
    return max(1, min(max(fitting, 1 if busy else wanted), rows // least))


def _lane_tiles(w: Window) -> int:
    return prod(map(constant_extent, w.channel_blocks)) * -(-constant_extent(w.lane) // w.width)


def _depths(builder: ScheduleBuilder, w: Window) -> tuple[list[LoopHandle], list[LoopHandle]]:
    """The loops over terms outside and inside a block, cut so that all lanes of a block stay in the
    second cache.
    """
    deep: list[LoopHandle] = []
    shallow: list[LoopHandle] = []
    # Each core has a block of lanes for itself.
    lanes = (
        constant_extent(w.lane) if w.channel_blocks else -(-_lane_tiles(w) // builder.machine.cores) * w.width
    )
    room = max(CONVOLUTION_COSTS.block_terms, builder.l2_budget // (lanes * w.weights.tensor.dtype.bytes))
    for loop in reversed(w.nest.reduction):
        n = constant_extent(loop)
        if not deep and n <= room:
            shallow.insert(0, handle(loop))
            room //= max(1, n)
        elif not deep and room > 1:
            outer, inner = builder.split_longer(loop, even(n, room), "clip")
            deep, shallow = [outer], [inner, *shallow]
        else:
            deep.insert(0, handle(loop))
    return deep, shallow


def _panels_first(builder: ScheduleBuilder, w: Window) -> bool:
    """True if walking along the field for each tile of lanes moves less memory than walking along
    the panel for each tile of positions.
    """
    positions = prod(-(-constant_extent(n) // h) for n, h in zip(reversed(w.positions), w.height))
    field = w.row_bytes * (1 if w.y is None else constant_extent(w.y))
    return _moved(builder, field, _lane_tiles(w)) <= _moved(builder, w.weights_bytes, positions)


def _copied(builder: ScheduleBuilder, w: Window, at: LoopHandle, shared: bool) -> None:
    """Copy the field with what it gives beyond its edges, so that neighbouring positions do not
    compete for places in the first cache.
    """
    if (buffer := builder.try_new_buffer("cache_read", w.input.tensor, at)) is None:
        return
    sizes = [integer(n) or 1 for n in buffer.shape]
    last = _channel(w)
    _vectors_along(builder, buffer, last)
    if shared and prod(sizes) >= CONVOLUTION_COSTS.shared_copy_elements:
        long = next((d for d in range(last) if sizes[d] > 1), last)
        builder.try_apply("parallel", copy_loop(buffer, long))
    if sizes[last] * buffer.dtype.bytes % (ALIAS // 2) == 0:
        builder.try_apply("pad", buffer, last, 1, extra=LINE // buffer.dtype.bytes)
    _last(builder, buffer, last)


def _has_contiguous_positions(w: Window) -> bool:
    """True if neighbouring positions, or terms of neighbouring positions, are neighbours in memory,
    or every second element of it.
    """
    return abs(w.input.stride(w.x.var) or 0) in (1, 2)


def _channel(w: Window) -> int:
    """The dimension of the field whose elements its copy has side by side: the last one where these
    are neighbouring positions, else the one that lies within a position."""
    if _has_contiguous_positions(w):
        return w.input.tensor.rank - 1
    terms = [n for n in w.nest.reduction if n not in w.offsets]
    along = [
        d
        for d, i in enumerate(w.input.indices)
        if any(linear(unclamped(i)).coefficient(n.var) for n in terms)
    ]
    return along[-1] if w.channels_first and along else w.input.tensor.rank - 1


def _vectors_along(builder: ScheduleBuilder, buffer: Tensor, d: int) -> None:
    """Fill a buffer by vectors along one of its dimensions."""
    if d != buffer.rank - 1:
        others = [k for k in range(buffer.rank) if k != d and integer(buffer.shape[k]) != 1]
        builder.try_apply("reorder", *copy_loops(buffer, [*others, d]))
    builder.try_apply("vectorize", copy_loop(buffer, d))


def _last(builder: ScheduleBuilder, buffer: Tensor, d: int) -> None:
    """Let neighbours along a dimension be neighbours in memory."""
    if d != buffer.rank - 1:
        builder.try_apply("layout", buffer, layout_with_last_dim(buffer, d))


def _is_packed(w: Window, loops: _OuterLoops) -> bool:
    """True if the panel is copied: rows are long and many positions use it, or lanes lie apart."""
    many = prod(map(constant_extent, (*w.images, *w.positions))) >= CONVOLUTION_COSTS.packing_positions
    return w.channels_first or (
        loops.cut_lanes and many and constant_extent(w.lane) > CONVOLUTION_COSTS.unpacked_panels * w.width
    )


def _packed(builder: ScheduleBuilder, w: Window, at: LoopHandle, shared: bool) -> None:
    """Copy the panel under a loop, tile after tile."""
    if (buffer := builder.try_copy(w.weights.tensor, at)) is None:
        return
    along = next(d for d, i in enumerate(w.weights.indices) if w.lane.var in variables(i))
    sizes = [integer(n) or 1 for n in buffer.shape]
    if sizes[along] > w.width:
        panels = pack_panels(builder, buffer, along, w.width, in_line=w.weights.stride(w.lane.var) == 1)
        first = None if panels is None else panels.outermost
    else:
        others = copy_loops(buffer, (d for d, n in enumerate(sizes) if d != along and n > 1))
        first = next(iter(others), None)
        across = along != buffer.rank - 1 and others and sizes[along] > 1
        squares = (*others[:-1], copy_loop(buffer, along), *others[-1:])
        if not across or not transpose_in_registers(
            builder, buffer, layout_with_last_dim(buffer, along), squares, through=through_rows(buffer, along)
        ):
            _vectors_along(builder, buffer, along)
            _last(builder, buffer, along)
    if first and shared and prod(sizes) >= CONVOLUTION_COSTS.shared_copy_elements:
        builder.try_apply("parallel", first)
