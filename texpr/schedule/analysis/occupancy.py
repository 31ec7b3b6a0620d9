"""Occupancy: the number of blocks of threads that run at once on one processor of a GPU.

Registers are given to warps, shared memory to blocks, each in units.

Source: Volkov, Better Performance at Lower Occupancy, GTC 2010, for what follows from it: sums in
registers do with few threads.
"""

from __future__ import annotations

from texpr.ir.machine import Multiprocessor

WARP = 32
REGISTERS_TOGETHER = 256
"""Registers of a warp are given in multiples of this."""
BYTES_TOGETHER = 128
"""Shared memory of a block is."""


def resident(
    processor: Multiprocessor, threads: int, shared_bytes: int, registers: int = 0
) -> tuple[int, str]:
    """Blocks that run at once on a processor, and what does not suffice for more.

    Args:
        threads: of a block, at least 1.
        shared_bytes: of a block.
        registers: of a thread; 0 if that is not known.
    """
    warps = -(-threads // WARP)
    found = {"threads": processor.threads // (warps * WARP), "blocks": processor.blocks}
    if shared_bytes:
        found["shared memory"] = processor.shared_bytes // (
            _rounded(shared_bytes, BYTES_TOGETHER) + processor.reserved
        )
    if registers:
        found["registers"] = processor.registers // _rounded(registers * WARP, REGISTERS_TOGETHER) // warps
    limit = min(found, key=lambda name: found[name])
    return found[limit], limit


def occupancy(processor: Multiprocessor, threads: int, shared_bytes: int, registers: int = 0) -> str:
    """The same in words, with the share of the processor's threads that run."""
    blocks, limit = resident(processor, threads, shared_bytes, registers)
    if not blocks:
        return f"no block fits a processor ({limit})"
    share = 100 * blocks * (-(-threads // WARP) * WARP) // processor.threads
    return f"{blocks} at once on a processor, {share} % of its threads (limited by {limit})"


def _rounded(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple
