"""Tuned numbers of the last choices for CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"


@dataclass(frozen=True)
class FinishingCosts(CostModel):
    """Thresholds of software prefetches and of pairs of rows on CPUs."""

    # prefetch
    prefetch_distances: int = tuned(4, "prefetch distances", _TIMES, "2026-11-25")
    """Prefetch distances in a loop, from which on it is long enough."""
    prefetch_bytes: int = tuned(1024, "bytes", _TIMES, "2026-11-25")
    """Prefetch distance: bytes from a vector to the one that is asked for meanwhile."""
    prefetch_l2_fraction: int = tuned(8, "part of L2", _TIMES, "2026-11-24")
    """One part of so many of L2, which a row and the next one may fill beside all else."""
    prefetch_row_bytes: int = tuned(1024, "bytes", _TIMES, "2026-11-26")
    """Bytes of a row from which on it is asked for a row early, whatever is computed of it."""
    # stream_prefetch
    stream_bytes: int = tuned(1536, "bytes", "rows ` of them` of `bench.layers`", "Zen 4, 2026-11-30")
    """Prefetch distance: bytes of an operand from a term of a sum to the one that is asked for."""
    stream_lines: int = tuned(4, "lines", "two terms of 32 numbers in f32; no times recorded")
    """The most lines of an operand that a term takes, or what is written out of several terms."""
    stream_uses: int = tuned(4, "tiles", "rows `1x1, ` of `bench.layers`", "Zen 4, 2026-11-30")
    """The most tiles that use a panel while they ask for the next one."""
    # row_pairs
    paired_rows: int = tuned(64, "rows for each core", _TIMES, "2026-11-25")
    """Rows for each core, from which on pairs are worth their code: where their number is odd, the
    last one has code of its own."""


FINISHING_COSTS = FinishingCosts()
"""The costs of the last choices for CPUs."""
