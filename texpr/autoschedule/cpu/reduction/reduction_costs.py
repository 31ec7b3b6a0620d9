"""Tuned numbers of reductions on CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"
_REGISTERS = "counts of registers and instructions; no times recorded"
_ERRORS = "roundings of long sums: ten million equal terms of f32 were off by 4.2e-5 in long chains"


@dataclass(frozen=True)
class ReductionCosts(CostModel):
    """Thresholds and block sizes of sums of no known structure on CPUs, and of sums by rows."""

    # reduction
    mostly_empty_vector: int = tuned(3, "cost of an access", _TIMES, "2026-11-22")
    """Cost of a vector that is mostly empty, as `strided_vector` and `gathered_vector`."""
    near_stride: int = tuned(7, "elements", "times of kernels, Zen 4", "2026-12-01")
    """Elements between lanes, up to which they come from runs of memory, where there are many lanes;
    with fewer lanes 4."""
    many_lanes: int = tuned(16, "lanes", "times of kernels, Zen 4", "2026-12-01")
    """Lanes for which `near_stride` holds."""
    tile_rows: int = tuned(8, "rows", _REGISTERS)
    """Rows of a tile of sums, where there are 32 registers; half as many where there are fewer."""
    product_side: int = tuned(32, "rows or columns", _TIMES, "2026-11-23")
    """Rows and columns of a product from which on its tiles are as large as registers allow."""
    block_terms: int = tuned(32, "terms", _TIMES, "2026-11-23")
    """Terms for which sums stay in registers, below which fetching them takes as long as adding."""
    repeated_operand_l1s: int = tuned(4, "L1", _TIMES, "2026-11-23")
    """First caches that an operand must fill for its terms to be added in blocks by recurrences."""
    short_window: int = tuned(4, "positions", _TIMES, "2026-11-23")
    """Positions of a window that are worth code of their own."""
    unrolled_terms: int = tuned(9, "terms", _TIMES, "2026-11-24")
    """Terms of a sum along vector lanes that are written out, so that it stays in a register."""
    # across_lanes
    shared_rows: int = tuned(4, "rows", _TIMES, "2026-11-23")
    """Rows of a tile that use the loads of another operand, where lanes are terms."""
    far_rows: int = tuned(8, "rows", _TIMES, "2026-11-23")
    """The same of an operand whose rows come from memory."""
    # pairwise
    chain_terms: int = tuned(16, "terms", _ERRORS, "2026-11-27")
    """Terms of a chain, about: chains of neighbouring blocks overlap in registers."""
    chain_levels: int = tuned(5, "levels", _ERRORS, "2026-11-27")
    """Levels of chains, at most: beyond a million chains, those of the outermost level are
    longer."""
    tile_chain_terms: int = tuned(64, "terms", _TIMES, "2026-11-27")
    """Terms of a chain where the registers of a tile all have one, whose sums then go to memory."""
    # short_runs
    long_run_bytes: int = tuned(64 << 10, "bytes", _TIMES, "2026-11-23")
    """Bytes from which on a run of memory is long."""
    leaps: int = tuned(4, "leaps", _TIMES, "2026-11-23")
    """Leaps from run to run of a sum that are worth another loop."""
    # split_reduction
    few_elements: int = tuned(16, "elements", _TIMES, "2026-11-22")
    """Elements of a reduction's target that are too few to be shared among threads."""
    many_terms: int = tuned(1 << 18, "terms", _TIMES, "2026-11-22")
    """Terms of all sums, from which on these are cut into parts (split-K)."""
    parts: int = tuned(64, "parts", "cores of a machine, whatever their number; no times recorded")
    """Parts of a long sum: as many for any number of threads, so that its value is the same."""
    part_terms: int = tuned(1 << 24, "terms", "range of index arithmetic; no times recorded")
    """Terms of a part, at most; longer sums are added in rounds."""
    # streaming
    streamed_rows: int = tuned(
        8, "rows", "ways of an L1; times of kernels, processor not recorded", "2026-11-23"
    )
    """Rows that are read together: as many as L1 has ways, for where their distance is a multiple
    of a page, they share those."""
    chained_strips: int = tuned(4, "strips", _ERRORS, "2026-11-27")
    """Strips of rows in a chain of sums of columns, which stay in a near cache."""
    packed_uses: int = tuned(32, "uses", _TIMES, "2026-11-22")
    """Uses of an element, from which on a copy costs less than it saves: each use then reads whole
    lines that lie side by side."""
    streamed_uses: int = tuned(48, "uses", _TIMES, "2026-11-22")
    """Uses of an element, beyond which packing saves more than walking along rows."""
    strip_bytes: int = tuned(1024, "bytes", _TIMES, "2026-11-22")
    """Bytes of a row that are worth a stream."""


REDUCTION_COSTS = ReductionCosts()
"""The costs of reductions on CPUs."""
