"""Reductions whose terms lie side by side in memory: each lane adds up a part of them, and what
the lanes have is added in the end.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import exceeds_registers
from texpr.autoschedule.core.handles import LoopHandle, handle, handles, sum_loop
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.cpu.reduction.pairwise import in_levels
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.autoschedule.cpu.reduction.short_runs import in_memory_order
from texpr.ir.build import integer
from texpr.ir.loop import For


def along_reduction(builder: ScheduleBuilder, nest: Nest, best: For, lanes: int) -> list[LoopHandle]:
    """Schedule the nest; its outer loops.

    Tiles of two spatial loops reuse what was loaded. Of an operand that comes from memory more rows
    are read side by side.
    """
    spatial = handles(nest.spatial)
    tiles = sorted((n for n in nest.spatial if extent(n) > 1 and nest.reuse(n) > 0), key=nest.reuse)[:2]
    width = lanes if tiles else (2 if exceeds_registers(nest.main.value, builder.machine) else 4) * lanes
    n = integer(best.extent)
    tile, inner = (builder.try_split(best, width) if n is None or n > width else None) or (None, handle(best))
    outer = [tile] if tile else []
    if not builder.try_apply("rfactor", inner, reassoc=True):
        return spatial
    terms = [[loop] for loop in (*handles(r for r in nest.reduction if r is not best), *outer)]
    chain = REDUCTION_COSTS.tile_chain_terms if tiles else REDUCTION_COSTS.chain_terms
    chained = in_levels(builder, nest, terms, [inner], chain) if len(tiles) < 2 else None
    inside: list[LoopHandle] = []
    # Where nothing is multiplied from memory, all rows are loaded beside their sums.
    many = (
        builder.machine.has_memory_operands or builder.machine.vector_registers > 2 * REDUCTION_COSTS.far_rows
    )
    height = (
        REDUCTION_COSTS.far_rows
        if many and len(tiles) == 1 and any(builder.exceeds_l2(nest, a) for a in nest.accesses[1:])
        else REDUCTION_COSTS.shared_rows
    )
    for tile in tiles:
        tile_outer, tile_inner = builder.split_if_longer(tile, height)
        at = spatial.index(handle(tile))
        spatial[at : at + 1] = [tile_outer] if tile_outer else []
        inside.append(tile_inner)
    first, *rest = [*(chained or terms), []]
    if not tiles and (blocks := in_memory_order(builder, nest, best)) is not None:
        spatial[-1] = blocks[0]
        first = [*first, blocks[1]]
    if builder.try_apply(
        "reorder", *spatial, *first, *(loop for loops in rest for loop in loops), *inside, inner
    ):
        for each in inside:
            builder.try_apply("unroll", each)
    builder.try_apply("vectorize", inner)
    builder.try_apply("vectorize", sum_loop(inner))
    if outer and not chained and n is not None and n % width:
        # Under a condition the sums would go to memory and back in every iteration.
        builder.try_apply("peel", outer[0], 0, 1)
    return spatial
