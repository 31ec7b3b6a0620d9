"""Work split of a packed product: blocks of tiles for cores, or loops that use a whole panel again."""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import constant_extent
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access


def is_uneven(cores: int, tiles: int, block: int) -> bool:
    """True if one core would have much more to do than others, where each has one block of so many
    tiles: rows are shared out then.
    """
    parts = GEMM_COSTS.uneven_work_fraction
    busiest = busiest_of(tiles, block, cores)
    return -(-tiles // block) <= cores and busiest * cores * parts >= tiles * (parts + 1)


def busiest_of(tiles: int, block: int, cores: int) -> int:
    """Tiles of the core that has most of them, of blocks that are shared out one by one; the
    last block has what is left over.
    """
    rounds, others = divmod(-(-tiles // block) - 1, cores)
    return rounds * block + (block if others else tiles - rounds * cores * block)


def fair_blocks(tiles: int, most: int, cores: int) -> list[int]:
    """Tiles of a block, from half of `most` to that, for which no core has many more tiles than it
    has at best.
    """
    busiest = {n: busiest_of(tiles, n, cores) for n in range((most + 1) // 2, most + 1)}
    least, parts = min(busiest.values()), GEMM_COSTS.uneven_block_fraction
    return [n for n in busiest if busiest[n] * parts <= least * (parts + 1)]


def whole_rounds(cores: int, tiles: int, most: int) -> int:
    """Number of blocks of at most `most` tiles: as many for each core, if there are as many tiles."""
    blocks = -(-tiles // most)
    return min(-(-blocks // cores) * cores, tiles)


def used_again(builder: ScheduleBuilder, panel: Access, others: list[For]) -> LoopHandle | None:
    """The outermost loop that uses the whole panel again, if it has an iteration for each core;
    None where a loop moves the panel.
    """
    wide = [n for n in others if constant_extent(n) > 1]
    if not wide or any(panel.stride(n.var) != 0 for n in wide):
        return None
    return handle(wide[0]) if constant_extent(wide[0]) >= builder.machine.cores > 1 else None
