"""Default schedules for registers of any length: the loop over lanes stands outside of those that
add terms, so that each strip of lanes has its sums in registers, however long these are.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import exceeds_registers
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.ir.dtypes import DType
from texpr.ir.loop import For


def wanted(builder: ScheduleBuilder) -> bool:
    """True if registers may be longer than those that the machine's record tells."""
    return builder.machine.scalable_bytes > builder.machine.vector_bytes > 0


def elements(
    builder: ScheduleBuilder, nest: Nest, best: For, rows: tuple[For, int] | None, registers: int
) -> list[LoopHandle] | None:
    """Schedule a nest without reduction, `rows` of it together; its outer loops, or None where
    lanes need each other.
    """

    def steps() -> list[LoopHandle]:
        rest, lane, row = handles(n for n in nest.spatial if n is not best), handle(best), []
        if rows is not None:
            at = rest.index(handle(rows[0]))
            row_outer, row_inner = builder.split_if_longer(rest[at], rows[1])
            rest[at : at + 1], row = [row_outer] if row_outer else [], [row_inner]
        elif not rest and extent(best) > CPU_COSTS.scalable_strip:
            outer, lane = builder.split_if_longer(lane, CPU_COSTS.scalable_strip, "clip")
            rest = [outer] if outer else []
        if row or best is not nest.spatial[-1]:
            builder.apply("reorder", *rest, lane, *row)
        for each in row:
            builder.try_apply("unroll", each)
        builder.apply("vectorize_scalable", lane, registers)
        return rest

    return builder.transaction(steps)


def along(builder: ScheduleBuilder, nest: Nest, best: For) -> list[LoopHandle] | None:
    """Schedule a reduction whose terms are lanes; its outer loops, or None where that is not
    possible.
    """

    def steps() -> list[LoopHandle]:
        spatial, inside = handles(nest.spatial), list[LoopHandle]()
        tiles = sorted((n for n in nest.spatial if extent(n) > 1 and nest.reuse(n) > 0), key=nest.reuse)[:2]
        for tile in tiles:
            outer, inner = builder.split_if_longer(tile, CPU_COSTS.scalable_lane_rows)
            at = spatial.index(handle(tile))
            spatial[at : at + 1] = [outer] if outer else []
            inside.append(inner)
        others = [r for r in nest.reduction if r is not best]
        if others or inside:
            builder.apply("reorder", *spatial, *others, best, *inside)
        for each in inside:
            builder.try_apply("unroll", each)
        registers = (
            1 if len(tiles) == 2 else 2 if tiles or exceeds_registers(nest.main.value, builder.machine) else 4
        )
        builder.apply("vectorize_scalable", best, registers, reassoc=True)
        return spatial

    return builder.transaction(steps) if nest.main.update in ("add", "max", "min") else None


def across(
    builder: ScheduleBuilder, nest: Nest, best: For, rows: For | None, window: LoopHandle | None
) -> list[LoopHandle] | None:
    """Schedule a reduction whose elements are lanes, tiles of `rows` of them; its outer loops, or
    None where that is not possible.

    Args:
        window: a loop over few terms that is written out, if there is one.
    """

    def steps() -> list[LoopHandle]:
        spatial = handles(n for n in nest.spatial if n is not best and n is not rows)
        lane, row = handle(best), list[LoopHandle]()
        if rows is not None:
            outer, inner = builder.split_if_longer(rows, CPU_COSTS.scalable_rows)
            spatial, row = spatial + ([outer] if outer else []), [inner]
        if not spatial and extent(best) > CPU_COSTS.scalable_columns:
            outer, lane = builder.split_if_longer(lane, CPU_COSTS.scalable_columns, "clip")
            spatial = [outer] if outer else []
        builder.apply("reorder", *spatial, lane, *nest.reduction, *row)
        for each in filter(None, (*row, window)):
            builder.try_apply("unroll", each)
        registers = 1 if exceeds_registers(nest.main.value, builder.machine) else 2
        builder.apply("vectorize_scalable", lane, registers)
        return spatial

    return builder.transaction(steps)


def loads_far_ahead(builder: ScheduleBuilder, nest: Nest, rows: For) -> bool:
    """True if the loads for a window that slides along rows take as many registers as sums do: one
    that moves by two elements shares little of it, and where registers are long, products take long
    and are kept busy by what was loaded early.
    """
    term = nest.reduction[-1]
    shared = any(a.stride(rows.var) == a.stride(term.var) != 0 for a in nest.accesses[1:])
    return builder.machine.scalable_bytes > 0 and not shared


def tile_of(builder: ScheduleBuilder, sums: DType) -> tuple[int, int]:
    """Width and height of a tile of a large product: rows of floats are packed and loaded as
    quads, others have an address each.
    """
    return (
        CPU_COSTS.scalable_tile_registers * builder.machine.scalable_bytes // sums.bytes,
        CPU_COSTS.scalable_tile_rows if sums.is_float else CPU_COSTS.scalable_rows,
    )


def terms_together(builder: ScheduleBuilder, terms: LoopHandle, left: int) -> None:
    """Some terms of each sum an iteration: what the loop itself costs is shared. Of many rows
    that are left over registers hold one.
    """
    if left <= CPU_COSTS.scalable_remainder_rows:
        _, term = builder.split_if_longer(
            terms, CPU_COSTS.scalable_remainder_terms if left else CPU_COSTS.scalable_terms
        )
        builder.try_apply("unroll", term)
