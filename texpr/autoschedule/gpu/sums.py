"""Sums that are no contractions: terms that one loop counts, parts of long sums, sums of
columns.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.handles import handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.core.template import NO_REDUCTION, NoMatch, Rewritten, Scheduled, Stage
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.row_reduction import LANES, fuse_known
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.structure.loops import free_name

SECTOR = 32
"""Bytes that memory gives at once: a part of a line (CUDA C++ Best Practices Guide, coalescing)."""


class CollapsedTerms:
    """Terms that several loops count are counted by one, where they follow each other in memory."""

    name, stage = "CollapsedTerms", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if two of its loops over terms may be joined."""
        if not nest.reduction:
            return NO_REDUCTION
        if nest.recurrent or nest.enclosing_loops:
            return NoMatch("a recurrence")
        return (
            nest
            if _pair(nest) is not None
            else NoMatch("no loops over terms that walk through memory as one")
        )

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Rewritten | None:
        """Join the loops."""
        nest = _one_sum(builder, match)
        return None if nest is match else Rewritten(nest)


def _pair(nest: Nest) -> tuple[For, For] | None:
    """Two loops over terms that walk through memory as one."""
    return next((p for p in zip(nest.reduction, nest.reduction[1:]) if are_one(nest, *p)), None)


def _one_sum(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """The nest with such loops joined."""
    pair = _pair(nest)
    if pair is None:
        return nest
    name = free_name(builder.kernel, pair[0].tensor, pair[0].var.name + pair[1].var.name)
    if not builder.try_fuse(*pair, name):
        return nest
    return _one_sum(builder, builder.current(nest) or nest)


class GpuSplitReduction:
    """Long sums of few elements: parts of them are computed each on its own, by a launch before."""

    name, stage = "GpuSplitReduction", Stage.SUMS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> tuple[Nest, For] | NoMatch:
        """The nest and its longest loop over terms."""
        if not nest.reduction:
            return NO_REDUCTION
        if nest.recurrent or nest.enclosing_loops or len(nest.spatial) > 1:
            return NoMatch("a recurrence, or elements along several loops")
        longest = max(nest.reduction, key=extent)
        if (
            prod(map(extent, nest.spatial)) > GPU_COSTS.few_sums
            or (integer(longest.extent) or 0) < 4 * GPU_COSTS.part_terms
        ):
            return NoMatch("enough sums for all processors, or short ones")
        return nest, longest

    def apply(self, builder: ScheduleBuilder, match: tuple[Nest, For]) -> Scheduled:
        """The steps."""
        nest, longest = match
        parts, _ = builder.split(
            longest, max(GPU_COSTS.part_terms, -(-extent(longest) // GPU_COSTS.most_parts))
        )
        builder.apply("rfactor", parts, reassoc=True)
        if nest.spatial:
            builder.try_apply("fission", nest.spatial[0])
        return Scheduled([])


class ColumnReduction:
    """Sums of columns: neighbouring threads have neighbouring columns, and several threads share
    the terms of each.
    """

    name, stage = "ColumnReduction", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if it sums columns."""
        if not nest.reduction:
            return NO_REDUCTION
        if not nest.spatial or nest.recurrent or nest.enclosing_loops:
            return NoMatch("a recurrence, or a single sum")
        return (
            nest
            if _sums_columns(nest)
            else NoMatch("neighbours are not added to neighbouring sums, or sums are short")
        )

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled:
        """The steps."""
        lanes, groups = _block(builder, match)
        _, term_threads = builder.split(match.reduction[0], groups)
        builder.apply("rfactor", term_threads, reassoc=True)
        columns, column_threads = builder.split(match.spatial[-1], lanes)
        builder.try_apply("bind", term_threads, "thread.y")
        builder.try_apply("bind", column_threads, "thread.x")
        blocks = fuse_known(builder, [*handles(match.spatial[:-1]), columns])
        builder.try_apply("bind", blocks, "block.x")
        return Scheduled([])


def _sums_columns(nest: Nest) -> bool:
    """True if neighbouring elements are added to neighbouring sums, which are long."""
    if (
        len(nest.reduction) != 1
        or extent(nest.reduction[0]) < GPU_COSTS.long_column
        or nest.main.update not in ("add", "max", "min")
    ):
        return False
    moving = [a for a in nest.accesses[1:] if a.stride(nest.reduction[0].var) != 0]
    steps = [a.stride(nest.spatial[-1].var) for a in (nest.accesses[0], *moving)]
    return steps[0] == 1 and 1 in steps[1:] and all(s in (0, 1) for s in steps)


def _block(builder: ScheduleBuilder, nest: Nest) -> tuple[int, int]:
    """Columns of a block, and threads that share the terms of each. Where blocks would be few they
    have as many columns as memory gives at once.
    """
    size = max(a.tensor.dtype.bytes for a in nest.accesses[1:] if a.stride(nest.spatial[-1].var) == 1)
    few = prod(map(extent, nest.spatial)) < LANES * builder.machine.processors
    lanes = min(LANES, SECTOR // size) if few else LANES
    if extent(nest.reduction[0]) < 4 * GPU_COSTS.long_column:
        return lanes, LANES // 4
    return lanes, GPU_COSTS.column_threads // lanes if few else LANES
