"""Contractions that are worth packing an operand for, and their parts."""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import UNBOUNDED, ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NO_REDUCTION, UNKNOWN_EXTENTS, NoMatch
from texpr.autoschedule.cpu import scalable_vectors
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import ALIAS, LINE, WAYS
from texpr.autoschedule.cpu.gemm.tile_shapes import height_of, tile_of
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen


@frozen
class Contraction:
    """The parts of a large contraction.

    Attributes:
        vector_loop: the loop whose iterations are lanes.
        row_loop: the loop along which the packed operand is used again.
        packed_operand: the read that moves with `vector_loop`, which is copied to panels.
        width, height: iterations of `vector_loop` and of `row_loop` in a tile of registers.
    """

    nest: Nest
    vector_loop: For
    row_loop: For
    packed_operand: Access
    width: int
    height: int

    @property
    def sums(self) -> DType:
        """The type in which is added."""
        return self.nest.main.tensor.dtype


def find_contraction(builder: ScheduleBuilder, nest: Nest) -> Contraction | NoMatch:
    """The parts of a nest, if packing an operand of it pays."""
    if not nest.reduction or nest.main.update is None:
        return NO_REDUCTION
    lanes = builder.vector_lanes(nest)
    if nest.recurrent or builder.machine.vector_registers < 16:
        return NoMatch("a recurrence, or a machine with few registers")
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    lane = nest.contiguous(lanes)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1:
        return NoMatch("no vector of elements along which one operand alone moves")
    panel = moving[0]
    if constant_extent(lane) < 2 * lanes and (
        constant_extent(lane) > lanes or panel.stride(lane.var) == 1 or builder.machine.has_indexed_fma
    ):
        return NoMatch(
            "few elements side by side"
        )  # a single register of lanes pays where its panel is turned in registers as a whole
    sharing = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0]
    if builder.machine.scalable_bytes:
        width, height = scalable_vectors.tile_of(builder, nest.main.tensor.dtype)
    else:
        most = max(map(constant_extent, sharing), default=0)
        width, height = tile_of(
            builder,
            constant_extent(lane),
            lanes,
            _places(nest, panel),
            most,
            panel.stride(lane.var) != 1,
            nest.main.tensor.dtype.is_int,
        )
    rows = [n for n in sharing if constant_extent(n) >= height]
    sharers = prod(map(constant_extent, sharing))
    joined = sum(lane.var in variables(i) for i in panel.indices) > 1
    if -constant_extent(lane) % lanes > constant_extent(lane) // GEMM_COSTS.idle_lane_fraction or (
        joined and sharers < GEMM_COSTS.collapsed_lane_rows
    ):
        return NoMatch("many lanes would have nothing to do, or few rows share the panel")
    across = panel.stride(lane.var) != 1 and (
        sharers >= GEMM_COSTS.block_rows
        or _saves_sums(nest, lane, width, sharers)
        or (builder.is_constant(panel.tensor) and sharers >= least_rows(builder, panel))
    )
    if not rows or not (
        across or (sharers >= least_rows(builder, panel) and _is_large(builder, nest, panel, lane, sharers))
    ):
        return NoMatch("few rows share the panel, or it stays in the cache as it is")
    row = max(reversed(rows), key=lambda n: min(constant_extent(n), GEMM_COSTS.block_rows))
    # Registers of rows are loaded whole.
    large = constant_extent(row) >= GEMM_COSTS.block_rows
    whole = copies_panels(builder) or by_element(builder) and large
    tall = height if whole else height_of(constant_extent(row), height)
    return Contraction(nest, lane, row, panel, width, tall)


def copies_panels(builder: ScheduleBuilder) -> bool:
    """True if a panel is copied to the first cache just before it is used: tiles have two registers of
    it, and memory operands leave them the others.
    """
    return builder.machine.has_memory_operands and builder.machine.vector_registers < 32


def least_rows(builder: ScheduleBuilder, panel: Access) -> int:
    """Rows that share an operand, from which on packing it saves more than it costs."""
    if copies_panels(builder):
        return GEMM_COSTS.panel_rows
    return GEMM_COSTS.packed_once_rows if builder.is_constant(panel.tensor) else GEMM_COSTS.packing_rows


def _saves_sums(nest: Nest, lane: For, width: int, rows: int) -> bool:
    """Few rows: adding up the lanes of each sum takes longer than packing. The former costs as much
    as some hundred terms, the latter as much as some rows; whole panels alone are packed so fast.
    """
    return (
        lane_waste(lane, width) == 0
        and prod(map(constant_extent, nest.reduction)) <= GEMM_COSTS.lane_sum_terms * rows
    )


def lane_waste(lane: For, width: int) -> int:
    """Idle lanes of the last tile."""
    return -constant_extent(lane) % width


def _is_large(builder: ScheduleBuilder, nest: Nest, panel: Access, lane: For, rows: int) -> bool:
    """The operand does not stay near, so that its rows, which lie apart, come from further away for
    each row of tiles; or rows that share it are so many that a copy, whose registers are lines of
    memory, pays where loads that cross them are dear.

    What other nests have just made, or an earlier iteration of a recurrence has read, is in the
    second cache at least.
    """
    used = prod(constant_extent(n) for n in (*nest.reduction, lane) if panel.stride(n.var) != 0)
    nearest, crossings = next(iter(builder.machine.caches), 0), builder.machine.split_load_cost
    made_before = nest.outer or nest.enclosing_loops
    if (
        crossings > 1
        and rows >= GEMM_COSTS.unrolled_pair_rows
        and not made_before
        and all(panel.stride(n.var) == 0 for n in nest.spatial if n is not lane)
    ):
        return True
    if bytes_of(panel.tensor) <= crossings * nearest:
        nearest *= crossings  # copying takes longer than tiles of few registers and many rows wait
    near = builder.l2_budget if made_before or _streams(builder, nest, panel) else nearest
    return used * panel.tensor.dtype.bytes > near


def _streams(builder: ScheduleBuilder, nest: Nest, panel: Access) -> bool:
    """True if a core fetches rows of the operand from its second cache faster than it multiplies,
    with nothing else to wait for: vectors are lines of memory, those of other rows lie in other
    places of the first cache, the other operand does not come from memory, and a vector times a
    value of it is one instruction, which needs no copies of either.
    """
    steps = [(panel.stride(n.var) or 0) * panel.tensor.dtype.bytes for n in nest.reduction]
    whole = (
        all(step % LINE == 0 and step % ALIAS for step in steps)
        and panel.tensor.dtype == nest.main.tensor.dtype
    )
    others = [a for a in nest.accesses[1:] if a is not panel]
    by_lines = builder.machine.split_load_cost == 1 and whole and not by_element(builder)
    return (
        by_lines
        and len(others) == 1
        and not builder.exceeds_l2(nest, others[0])
        and others[0].stride(nest.reduction[-1].var) == 1
    )


def _places(nest: Nest, panel: Access) -> int:
    """Number of rows of the other operand for which a first cache has places for beside the panel:
    few of those a multiple of `ALIAS` apart.
    """
    term = nest.reduction[-1].var
    in_place = [a for a in nest.accesses[1:] if a is not panel and a.stride(term) in (0, 1)]
    apart = [
        (a.stride(n.var) or 1) * a.tensor.dtype.bytes
        for a in in_place
        for n in nest.spatial
        if panel.stride(n.var) == 0
    ]
    return WAYS - 2 if any(step % ALIAS == 0 for step in apart) else UNBOUNDED


def by_element(builder: ScheduleBuilder) -> bool:
    """True if products take one element of a register: of parts of 128 bits where registers have
    any length.
    """
    return builder.machine.has_indexed_fma or builder.machine.scalable_bytes > 0
