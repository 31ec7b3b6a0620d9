"""Tuned numbers of attention on GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_RESOURCES = "registers and shared memory of a multiprocessor; no times recorded"


@dataclass(frozen=True)
class AttentionCosts(CostModel):
    """Thresholds of attention on GPUs, whose weighted sums stay in registers."""

    score_side: int = tuned(32, "rows or columns", _RESOURCES)
    """Rows and columns of scores, at least."""
    spare_shared_bytes: int = tuned(8 << 10, "bytes", _RESOURCES)
    """Bytes of shared memory for paddings and for what else is computed of a block of rows."""
    unrolled_terms: int = tuned(4, "terms", "counts of instructions; no times recorded")
    """Terms of a product by threads that are written out: neighbours of a row come from shared
    memory at once."""
    thread_sums: int = tuned(128, "sums", _RESOURCES)
    """Weighted sums of a row, at most, where threads multiply."""
    warp_sums: int = tuned(192, "sums", _RESOURCES)
    """Weighted sums of a row, at most, where warps multiply: registers have room for a tile of both
    products beside them."""
    warp_sums_at_once: int = tuned(64, "sums", _RESOURCES)
    """Weighted sums of a row that are added up at a time, where warps multiply."""
    warpgroup_sums: int = tuned(128, "sums", _RESOURCES)
    """Weighted sums of a row, at most, where warpgroups multiply: those of a block stand in
    registers beside those so far."""


ATTENTION_COSTS = AttentionCosts()
"""The costs of attention on GPUs."""
