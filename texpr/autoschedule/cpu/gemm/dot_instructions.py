"""Contractions that an instruction sums in groups of terms: both operands are packed as it wants
them, the inner loops are the instruction.

Which machine has which instruction is in its record, what it does in `ir.instructions`. Sums of
integers have no order.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handle, handles
from texpr.autoschedule.core.layouts import dimension_names
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import (
    NO_REDUCTION,
    NOT_A_PRODUCT,
    UNKNOWN_EXTENTS,
    NoMatch,
    Scheduled,
    Stage,
)
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import permission
from texpr.autoschedule.cpu.gemm.work_split import whole_rounds
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.instructions import INSTRUCTIONS, meaning
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.analysis.access import Access
from texpr.support.frozen_dataclass import frozen

REGISTER = 16
"""Bytes of a register from which a product takes one group of terms for all lanes (Arm ARM, `SDOT`
by element)."""


@frozen
class _Dots:
    """The parts of such a contraction.

    Attributes:
        lane, row, term: loops along the lanes of the instruction, along what it gives to all lanes,
            and over the terms.
        panel, shared: the reads that move with `lane` and with `row`.
        lanes, terms: of the instruction.
    """

    nest: Nest
    instruction: str
    lane: For
    row: For
    term: For
    panel: Access
    shared: Access
    lanes: int
    terms: int


class DotInstructions:
    """Contractions whose inner loops an instruction runs, which adds groups of terms in each
    lane.
    """

    name, stage = "DotInstructions", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Dots | NoMatch:
        """The parts of the nest."""
        return _dots(builder, nest)

    def apply(self, builder: ScheduleBuilder, match: _Dots) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match)


def _dots(builder: ScheduleBuilder, nest: Nest) -> _Dots | NoMatch:
    if not nest.reduction:
        return NO_REDUCTION
    if (
        nest.outer
        or nest.recurrent
        or nest.main.update != "add"
        or len(nest.reduction) != 1
        or len(nest.accesses) != 3
    ):
        return NOT_A_PRODUCT
    if any(integer(n.extent) is None for n in nest.loops):
        return UNKNOWN_EXTENTS
    target, term = nest.accesses[0], nest.reduction[0]
    for name in sorted(builder.machine.instructions - builder.machine.unprofitable_instructions):
        if len(meaning(name).inputs) != 2 or meaning(name).inputs[0].rank != 1:
            continue
        left, right = (t.dtype for t in meaning(name).inputs)
        lanes, terms = (integer(n) or 0 for n in meaning(name).inputs[1].shape)
        lane = nest.contiguous(lanes)
        if (
            lane is None
            or constant_extent(term) < terms
            or target.tensor.dtype != meaning(name).outputs[0].dtype
        ):
            continue
        panel = next((a for a in nest.accesses[1:] if a.stride(lane.var) and a.tensor.dtype == right), None)
        shared = next(
            (
                a
                for a in nest.accesses[1:]
                if a is not panel and a.stride(lane.var) == 0 and a.tensor.dtype == left
            ),
            None,
        )
        if panel is None or shared is None or shared.stride(term.var) != 1 or panel.stride(lane.var) != 1:
            continue
        rows = [
            n
            for n in nest.spatial
            if shared.stride(n.var) and panel.stride(n.var) == 0 and constant_extent(n) >= GEMM_COSTS.dot_rows
        ]
        if rows:
            return _Dots(nest, name, lane, max(rows, key=constant_extent), term, panel, shared, lanes, terms)
    return NoMatch("no instruction adds groups of these terms")


def _scheduled(builder: ScheduleBuilder, d: _Dots) -> Scheduled | NoMatch:
    """Panels of the right operand stay in the second cache, a tile of rows of the left one in
    the first, the sums in registers.
    """
    vectors, height = _tile(builder, d)
    width = vectors * d.lanes
    tiles = -(-constant_extent(d.lane) // width)
    count = _blocks(builder, d, tiles, width)
    by_rows = count < builder.machine.cores
    others = handles(n for n in d.nest.spatial if n is not d.lane and n is not d.row)
    lane_tiles, lane = builder.split(d.lane, width, tail="pad")
    blocks, lane_tiles = builder.split(lane_tiles, -(-tiles // count), tail="clip")
    row, term = handle(d.row), handle(d.term)
    builder.apply("reorder", *others, blocks, row, lane_tiles, term, lane)
    packed = _packed(builder, d, blocks, width)
    if packed is None:
        return NoMatch("the operand has no dimension for each loop, or few terms")
    row_tiles, row = builder.split_if_longer(row, height, "peel" if by_rows else "overlap")
    builder.apply("reorder", *filter(None, [row_tiles]), lane_tiles, term, row, lane)
    near = _copied(builder, d, row_tiles or blocks)
    groups, term = builder.split_if_longer(term, d.terms, "peel")
    chunks, lane = builder.split(lane, d.lanes, tail="exact")
    together = None
    if groups and near and builder.machine.has_indexed_fma:
        groups, together = builder.split_if_longer(
            groups, REGISTER // (d.terms * d.shared.tensor.dtype.bytes), "peel"
        )
    builder.apply("reorder", *filter(None, (groups, together)), row, chunks, lane, term)
    if groups and together and (registers := builder.try_new_buffer("cache_read", near, groups)) is not None:
        builder.try_apply("vectorize", copy_loop(registers, registers.rank - 1))
        builder.try_apply("unroll", copy_loop(registers, registers.rank - 2))
        builder.try_apply("unroll", together)
    for each in (row, chunks):
        builder.try_apply("unroll", each)
    builder.try_apply("vectorize", lane)
    # The layout comes last: only now are all indices sums of tiles and places in them.
    builder.apply("layout", packed.buffer, packed.layout)
    builder.apply("tensorize", lane, d.instruction, **permission(d.instruction))
    if others or not by_rows or not row_tiles:
        return Scheduled([*others, blocks])
    builder.try_apply("parallel", packed.outermost)
    return Scheduled([row_tiles])


def _tile(builder: ScheduleBuilder, d: _Dots) -> tuple[int, int]:
    """Vectors and rows of a tile: sums, a row of the panel and a value for all lanes fit the
    registers, little is left over.

    Where products take elements of registers, these hold a few groups of terms of each row.
    """
    size = constant_extent(d.lane)
    choices = {2: 12, 3: 8, 1: 16} if builder.machine.vector_registers >= 32 else {1: 8, 2: 4}
    more = int(INSTRUCTIONS[d.instruction].offset)
    if more and builder.machine.vector_registers >= 32:
        choices[1] = 24  # more rows share what a register takes beside them
    if builder.machine.has_indexed_fma:  # rows take registers too
        choices = {3: 6, 2: 8, 1: 12}
    wider = GEMM_COSTS.dot_width_penalty
    loading = GEMM_COSTS.dot_load_penalty if builder.machine.fma_per_cycle > 1 else wider
    costs = {n: 1 + (loading if n == 1 else wider * (n - 2)) + more / choices[n] for n in choices}
    vectors = min(choices, key=lambda n: -(-size // (n * d.lanes)) * n * costs[n])
    most, rows = min(choices[vectors], constant_extent(d.row)), constant_extent(d.row)
    # The last tile overlaps others; what is loaded and computed beside the rows is shared by fewer
    # where tiles are low.
    return vectors, min(
        range(most, most * 2 // 3 - 1, -1),
        key=lambda n: -(-rows // n) * (n + more + GEMM_COSTS.panel_load_rows),
    )


def _blocks(builder: ScheduleBuilder, d: _Dots, tiles: int, width: int) -> int:
    """Number of blocks of lanes, each of which half of the second cache holds once packed: as many
    for each core.
    """
    nearby = builder.machine.caches[:2][-1] if builder.machine.caches else 1 << 18
    most = max(1, nearby // 2 // (constant_extent(d.term) * d.panel.tensor.dtype.bytes * width))
    return whole_rounds(builder.machine.cores, tiles, most)


@frozen
class _Copy:
    """A copy of an operand.

    Attributes:
        outermost: the outermost loop of the copy.
        layout: to be given to the buffer last.
    """

    outermost: LoopHandle
    buffer: Tensor
    layout: str


def _packed(builder: ScheduleBuilder, d: _Dots, at: LoopHandle, width: int) -> _Copy | None:
    """Copy the right operand to a buffer, for panels in which groups of terms lie beside each
    other; None where a loop moves along no dimension, or there are few terms.
    """
    along = {
        n: next((k for k, i in enumerate(d.panel.indices) if n.var in variables(i)), -1)
        for n in (d.lane, d.term)
    }
    if -1 in along.values():
        return None
    buffer = builder.new_buffer("cache_read", d.panel.tensor, at)
    j, k = along[d.lane], along[d.term]
    panels, lane = builder.split(copy_loop(buffer, j), width)
    groups, term = builder.split_if_longer(copy_loop(buffer, k), d.terms, "peel")
    if groups is None:
        return None
    builder.try_apply("reorder", groups, panels, lane, term)
    builder.try_apply("unroll", term)
    builder.try_apply("vectorize", lane)
    names = dimension_names(buffer)
    rest = " ".join(n for i, n in enumerate(names) if i not in (j, k))
    form = f"{names[j]}/{width} {names[k]}/{d.terms} {names[j]}%{width} {names[k]}%{d.terms}"
    return _Copy(groups, buffer, f"{' '.join(names)} -> {rest + ' ' if rest else ''}{form}")


def _copied(builder: ScheduleBuilder, d: _Dots, at: LoopHandle) -> Tensor | None:
    """The left operand of a tile of rows, beside each other and near; the copy, None if there is
    none.
    """
    buffer = builder.try_new_buffer("cache_read", d.shared.tensor, at)
    if buffer is not None:
        _, inner = builder.split_if_longer(
            copy_loop(buffer, buffer.rank - 1), GEMM_COSTS.dot_copy_elements, "peel"
        )
        builder.try_apply("vectorize", inner)
    return buffer
