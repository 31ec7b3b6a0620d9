"""Sums of no known structure: lanes over terms with partial results, or lanes over elements with
tiles of accumulators.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, extent, window_loops
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.core.template import NO_REDUCTION, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu import scalable_vectors
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.elementwise.elementwise import peel_boundaries
from texpr.autoschedule.cpu.gemm.packed import in_pairs
from texpr.autoschedule.cpu.gemm.remainder_lanes import cut_lanes
from texpr.autoschedule.cpu.gemm.tile_shapes import product_tile
from texpr.autoschedule.cpu.parallelize import longest
from texpr.autoschedule.cpu.reduction.across_lanes import along_reduction
from texpr.autoschedule.cpu.reduction.pairwise import in_levels
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.build import integer
from texpr.ir.expr import Mul
from texpr.ir.loop import For
from texpr.support.frozen_dataclass import frozen


@frozen
class _Lanes:
    """A nest with a reduction, and the loop whose iterations become lanes."""

    nest: Nest
    lane: For


class LanesOverTerms:
    """Sums whose terms are lanes: each lane has a partial result, and these are added up at the
    end.
    """

    name, stage = "LanesOverTerms", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Lanes | NoMatch:
        """The loop that becomes lanes."""
        found = _best_lanes(builder, nest)
        if isinstance(found, NoMatch) or any(found.lane is n for n in nest.reduction):
            return found
        return NoMatch("elements lie side by side, and terms do not")

    def apply(self, builder: ScheduleBuilder, match: _Lanes) -> Scheduled:
        """The steps."""
        found = (
            scalable_vectors.along(builder, match.nest, match.lane)
            if scalable_vectors.wanted(builder)
            else None
        )
        return Scheduled(
            along_reduction(builder, match.nest, match.lane, builder.vector_lanes(match.nest))
            if found is None
            else found
        )


class LanesOverElements:
    """Sums whose elements are lanes: a tile of rows keeps its accumulators in registers while
    terms are added.
    """

    name, stage = "LanesOverElements", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Lanes | NoMatch:
        """The loop that becomes lanes."""
        found = _best_lanes(builder, nest)
        if isinstance(found, NoMatch) or not any(found.lane is n for n in nest.reduction):
            return found
        return NoMatch("terms lie side by side, and elements do not")

    def apply(self, builder: ScheduleBuilder, match: _Lanes) -> Scheduled:
        """The steps."""
        nest, best = match.nest, match.lane
        panel = next((n for n in nest.spatial if _is_panel(builder, nest, best, n)), None)
        rows = panel or _tile_loop(nest, best)
        masked = builder.machine.scalable_bytes and boundary_iterations(nest, best) != (0, 0)
        longer = scalable_vectors.wanted(builder) or masked
        found = scalable_vectors.across(builder, nest, best, rows, _window(nest, rows)) if longer else None
        return Scheduled(
            _vectorize_outputs(builder, nest, best, rows, builder.vector_lanes(nest))
            if found is None
            else found
        )


def _best_lanes(builder: ScheduleBuilder, nest: Nest) -> _Lanes | NoMatch:
    """The loop along which accesses lie side by side, rather one over elements."""
    if not nest.reduction:
        return NO_REDUCTION
    lanes = builder.vector_lanes(nest)
    register = max(lanes, builder.machine.scalable_bytes // nest.main.tensor.dtype.bytes)

    def cost(loop: For) -> int:
        short = 4 * extent(loop) <= register or 2 * extent(loop) < lanes
        empty = REDUCTION_COSTS.mostly_empty_vector if short else 0
        return (
            nest.cost(loop)
            + empty
            - _near_reads(nest, loop, lanes) * (COSTS.gathered_vector - COSTS.strided_vector)
        )

    def worse(loop: For) -> tuple[int, ...]:
        return (
            cost(loop),
            handle(loop) == nest.parts,
            -min(extent(loop), lanes),
            loop in nest.reduction,
            -nest.loops.index(loop),
        )

    best = min(nest.loops, key=worse)
    if not builder.machine.vector_bytes or extent(best) < 2:
        return NoMatch("a machine without vectors, or one iteration")
    return _Lanes(nest, best)


def _near_reads(nest: Nest, loop: For, lanes: int) -> int:
    """Reads of elements a few places apart, as of rows of colors: they come as whole vectors, whose
    elements are chosen in registers.
    """
    most = REDUCTION_COSTS.near_stride if lanes >= REDUCTION_COSTS.many_lanes else 4
    return sum(3 <= (a.stride(loop.var) or 0) <= most for a in nest.accesses[1:])


def _window(nest: Nest, rows: For | None) -> LoopHandle | None:
    """The short window that slides along the rows, if there is one."""
    return handle(nest.reduction[-1]) if rows is not None and _is_short_window(nest, rows) else None


def _vectorize_outputs(
    builder: ScheduleBuilder, nest: Nest, best: For, rows: For | None, lanes: int
) -> list[LoopHandle]:
    """Vector lanes over elements of the target; a tile of rows keeps its accumulators in
    registers while the reduction runs.
    """
    registers, height, tail = _tile(builder, nest, best, rows, lanes)
    block = _reduction_block_for_l1(builder, nest, best, rows)
    chained = in_levels(builder, nest, [[n] for n in handles(nest.reduction)], []) if rows is None else None
    peel_boundaries(builder, nest, best)
    outer, inner = cut_lanes(builder, nest, best, registers, height if rows is not None else 1)
    spatial = handles(n for n in nest.spatial if n is not best and n is not rows)
    inside: list[LoopHandle] = []
    row_outer = None
    if rows is not None:
        row_outer, row_inner = builder.split_if_longer(rows, height, "peel" if block else tail)
        at = 0 if _uses_own_rows(builder, nest, rows) else len(spatial)
        spatial[at:at] = [row_outer] if row_outer else []
        inside.append(row_inner)
    spatial += [outer] if outer else []
    terms = [loop for loops in chained for loop in loops] if chained else handles(nest.reduction)
    order = [*spatial, *terms, *inside, inner]
    again = _tile_repeated_reduction(builder, nest, best, rows, row_outer)
    if again is not None and row_outer is not None:
        shared = [*spatial[: spatial.index(row_outer)], *filter(None, [again.shares])]
        columns = filter(None, [outer])
        order = [*shared, *terms[:-1], again.blocks, again.tiles, *columns, again.within, *inside, inner]
        spatial = shared or [again.tiles]
    elif block and row_outer is not None:
        blocks, within = builder.split_if_longer(terms[0], block, "exact")
        at = spatial.index(row_outer)
        order = [*spatial[:at], *filter(None, [blocks]), *spatial[at:], within, *inside, inner]
    if builder.try_apply("reorder", *order):
        if rows is not None and _is_short_window(nest, rows):
            window = handle(nest.reduction[-1])
            # All rows together hold what the window slides over; where there are registers for it,
            # or no operand comes from memory, a row after the other: the window is held then.
            held = not builder.machine.has_memory_operands or builder.machine.vector_registers >= 32
            by_rows = held and builder.try_apply("reorder", *inside, window, inner)
            inside.insert(len(inside) if by_rows else 0, window)
        # Of terms that end with the row, pairs would keep the conditions that loops of their own do
        # without.
        tile = rows is not None and not builder.machine.has_indexed_fma and _is_product(nest, best, rows)
        if tile and integer(builder.loop(order[-3]).extent) is not None:
            in_pairs(builder, order[-3])
        if rows is None and 1 < prod(map(constant_extent, nest.reduction)) <= REDUCTION_COSTS.unrolled_terms:
            inside += terms
        for loop in inside:
            builder.try_apply("unroll", loop)
    builder.try_apply("vectorize", inner)
    return spatial


def _reduction_block_for_l1(builder: ScheduleBuilder, nest: Nest, best: For, rows: For | None) -> int:
    """Number of terms that tiles of rows add before others do, where the operands that move with
    the lanes would come from the second cache each time.

    Half of the first cache holds it for so many terms; 0 where it holds it for all, or for few.
    """
    moving = [a for a in nest.accesses[1:] if a.stride(best.var) != 0]
    if (
        rows is None
        or not nest.outer
        or len(nest.reduction) != 1
        or len(moving) != 1
        or not _is_product(nest, best, rows)
    ):
        return 0
    terms, each = constant_extent(nest.reduction[0]), constant_extent(best) * moving[0].tensor.dtype.bytes
    near = next(iter(builder.machine.caches), 0)
    block = (
        even(terms, near // 2 // each)
        if each and terms * each > near and near // 2 // each >= REDUCTION_COSTS.block_terms
        else 0
    )
    return block if block and terms % block == 0 else 0


def _uses_own_rows(builder: ScheduleBuilder, nest: Nest, rows: For) -> bool:
    """True if cores with some rows of a recurrence each use only rows that they have computed
    themselves.
    """
    computed = [
        a for a in nest.accesses[1:] if a.tensor in (*builder.kernel.temporaries, *builder.kernel.outputs)
    ]
    return (
        bool(nest.enclosing_loops and computed)
        and builder.machine.cores > 1
        and all(a.stride(rows.var) != 0 for a in computed)
    )


@frozen
class _RepeatedTiles:
    """Loops of a product that a recurrence repeats.

    Attributes:
        shares: over as many blocks of tiles of rows as there are cores; None for a single core.
        tiles: over the tiles of such a block.
        blocks: over blocks of terms for which half of the first cache holds the operand.
        within: over the terms of a block.
    """

    shares: LoopHandle | None
    tiles: LoopHandle
    blocks: LoopHandle
    within: LoopHandle


def _tile_repeated_reduction(
    builder: ScheduleBuilder, nest: Nest, best: For, rows: For | None, tiles: LoopHandle | None
) -> _RepeatedTiles | None:
    """Cut a product that a recurrence repeats with an operand much larger than the first cache: all
    tiles of a core add a block of terms, before others come from the second cache.
    """
    moving = [a for a in nest.accesses[1:] if a.stride(best.var) != 0]
    if (
        not nest.enclosing_loops
        or nest.outer
        or tiles is None
        or rows is None
        or len(moving) != 1
        or not _is_product(nest, best, rows)
    ):
        return None
    (panel,), near, cores = moving, next(iter(builder.machine.caches), 0), builder.machine.cores
    each, term = constant_extent(best) * panel.tensor.dtype.bytes, nest.reduction[-1]
    whole = prod(constant_extent(n) for n in nest.reduction if panel.stride(n.var) != 0) * each
    most, count = near // 2 // max(1, each), longest(builder, tiles)
    block = (
        even(constant_extent(term), most)
        if most >= REDUCTION_COSTS.block_terms and whole > REDUCTION_COSTS.repeated_operand_l1s * near
        else 0
    )
    if not block or constant_extent(term) % block or count % cores or count // cores < 2:
        return None
    before, shares = builder.checkpoint(), None
    if cores > 1:
        shares, tiles = builder.split_if_longer(tiles, count // cores, "exact")
    blocks, within = builder.split_if_longer(term, block, "exact")
    if blocks is None or (cores > 1 and shares is None):
        builder.rollback(before)
        return None
    return _RepeatedTiles(shares, tiles, blocks, within)


def _tile(
    builder: ScheduleBuilder, nest: Nest, best: For, rows: For | None, lanes: int
) -> tuple[int, int, str]:
    """Registers beside each other, rows of them, and what becomes of the rows that are left
    over.
    """
    if rows is not None and _is_panel(builder, nest, best, rows):
        return 2, constant_extent(rows), "peel"
    if builder.machine.vector_registers < 32:
        return 2, _few_rows(builder, nest, rows), "peel"
    if rows is not None and not builder.machine.has_indexed_fma and _is_product(nest, best, rows):
        return *product_tile(builder, nest, best, rows, lanes), "overlap"
    # Three registers, unless two leave less over, or nothing is loaded for all lanes, which more of
    # them would share.
    shared = any(a.stride(best.var) == 0 for a in nest.accesses[1:])
    wide = rows is not None and shared and extent(best) % (3 * lanes) <= extent(best) % (2 * lanes)
    few = (
        rows is not None
        and _is_short_window(nest, rows)
        and scalable_vectors.loads_far_ahead(builder, nest, rows)
    )
    height = REDUCTION_COSTS.tile_rows
    return 3 if wide and extent(best) >= 3 * lanes else 2, height // 2 if few else height, "peel"


def _few_rows(builder: ScheduleBuilder, nest: Nest, rows: For | None) -> int:
    """Rows of two registers each where registers are few: a window that slides along them takes
    some, rows with edges an address each.
    """
    window = constant_extent(nest.reduction[-1]) if rows is not None and _is_short_window(nest, rows) else 0
    taken = 0 if builder.machine.has_memory_operands or not window else 2 * (window + 2)
    most = (
        REDUCTION_COSTS.tile_rows // 4
        if rows is not None
        and builder.machine.address_registers < CONVOLUTION_COSTS.address_registers
        and any(boundary_iterations(nest, rows))
        else REDUCTION_COSTS.tile_rows // 2
    )
    return min(most, max(1, (builder.machine.vector_registers - taken) // 2))


def _is_product(nest: Nest, lane: For, rows: For) -> bool:
    """True if one read moves with the lanes and another one with the rows, so that sums take all
    but a few registers.
    """
    if (
        len(nest.accesses) != 3
        or min(constant_extent(lane), constant_extent(rows)) < REDUCTION_COSTS.product_side
    ):
        return False
    along = [(a.stride(lane.var) != 0, a.stride(rows.var) != 0) for a in nest.accesses[1:]]
    return isinstance(nest.main.value, Mul) and sorted(along) == [(False, True), (True, False)]


def _is_short_window(nest: Nest, rows: For) -> bool:
    """True if the innermost terms are a short window that slides along the rows: together these
    load once what several of them use.
    """
    last = nest.reduction[-1]
    return 1 < constant_extent(last) <= REDUCTION_COSTS.short_window and any(
        last in window_loops(nest, a, [rows]) for a in nest.accesses[1:]
    )


def _is_panel(builder: ScheduleBuilder, nest: Nest, lane: For, rows: For) -> bool:
    """True if a loop runs over the rows of a packed operand: they lie side by side, the terms behind
    each other, and registers hold the sums of all of them for two vectors.
    """
    count, term = constant_extent(rows), nest.reduction[-1]
    return (
        1 < count <= (builder.machine.vector_registers - 3) // 2
        and any(
            (a.stride(rows.var), a.stride(lane.var), a.stride(term.var)) == (1, 0, count)
            for a in nest.accesses[1:]
        )
        and nest.reuse(rows, lane) > 0
    )


def _tile_loop(nest: Nest, vector: For) -> For | None:
    """The spatial loop along which most reads are reused; of several, one along which short
    windows slide.
    """
    others = [n for n in nest.spatial if n is not vector and extent(n) > 1]
    best = max(others, key=lambda n: (nest.reuse(n, vector), _is_short_window(nest, n)), default=None)
    return best if best is not None and nest.reuse(best, vector) > 0 else None
