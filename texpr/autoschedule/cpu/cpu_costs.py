"""Tuned numbers of default schedules for CPUs that no folder has alone: threads, groups of nests,
registers of any length.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"
_REGISTERS = "counts of registers; no times recorded"
_LOOP = "instructions of a loop beside its products; no times recorded"
_SHARING = "elements that keep threads busy; no times recorded"


@dataclass(frozen=True)
class CpuCosts(CostModel):
    """Thresholds of threads and of groups of nests, tiles of registers of any length."""

    # parallelize
    started_loop_work: int = tuned(1 << 13, "statement instances", _TIMES, "2026-11-24")
    """Statement instances, each time that a loop inside of others starts, below which threads that
    are awake wait for each other longer than they work."""
    chunk_work: int = tuned(1 << 14, "statement instances", _TIMES, "2026-11-20")
    """Statement instances of a chunk of one long loop."""
    # driver
    peeled_iterations: int = tuned(2, "iterations", "length of the code; no times recorded")
    """Iterations of a recurrence, at most, that have code of their own at its start and end."""
    repetitions_per_peeled: int = tuned(16, "iterations", "length of the code; no times recorded")
    """Iterations of a recurrence for each that may have code of its own, at least."""
    # producer_chains
    chain_block_iterations: int = tuned(16, "iterations", _TIMES, "2026-11-22")
    """Iterations of a block of a chain, at least: with fewer too little is read again."""
    most_chain_block_iterations: int = tuned(512, "iterations", _TIMES, "2026-11-22")
    """Iterations of a block of a chain, at most."""
    # common_axis
    least_slice_bytes: int = tuned(1 << 10, "bytes", _TIMES, "2026-11-30")
    """Bytes of the intermediates of an iteration, at least: the loops inside are too short for
    vectors else."""
    # scalable_vectors
    scalable_strip: int = tuned(1 << 14, "elements", _SHARING)
    """Elements of a loop that has none around it, from which on it is cut, so that threads can
    share it."""
    scalable_columns: int = tuned(256, "elements", _SHARING)
    """The same where each element is a sum."""
    scalable_lane_rows: int = tuned(4, "rows", _REGISTERS)
    """Rows of a tile of sums along lanes of any length."""
    scalable_rows: int = tuned(8, "rows", _REGISTERS)
    """Rows of a tile of sums across lanes of any length."""
    scalable_tile_registers: int = tuned(2, "registers", _REGISTERS)
    """Registers beside each other in a tile of a large product."""
    scalable_tile_rows: int = tuned(12, "rows", _REGISTERS)
    """Rows of a tile of a large product of floats: sums, a row of the panel and rows in quads take
    29 registers."""
    scalable_terms: int = tuned(8, "terms", _LOOP)
    """Terms of a sum that are added in an iteration."""
    scalable_remainder_terms: int = tuned(4, "terms", _LOOP)
    """The same where rows are left over, which come from memory as they are."""
    scalable_remainder_rows: int = tuned(8, "rows", _REGISTERS)
    """Rows that are left over, at most, for several terms to be added in an iteration."""


CPU_COSTS = CpuCosts()
"""The costs of default schedules for CPUs that no folder has alone."""
