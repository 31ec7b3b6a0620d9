"""Tuned numbers of the rewrites of equations."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_COUNTS = "counts of operations; no times recorded"
_TIMES = "times of kernels; processor not recorded"


@dataclass(frozen=True)
class RewriteCosts(CostModel):
    """Thresholds of rewrites of equations, on all machines."""

    # contraction_order
    work_share: float = tuned(0.8, "share of the work as it is written", _COUNTS)
    """Share of the work as it is written, at most, for another order of summation to be taken."""
    saved_operations: int = tuned(1 << 12, "operations", _COUNTS)
    """Operations below which another nest costs more than it saves."""
    factor_uses: int = tuned(16, "uses", _TIMES, "2026-11-26")
    """Uses of a product of two factors, below which it is as soon multiplied again as fetched."""
    unrolled_terms: int = tuned(9, "terms", _TIMES, "2026-11-26")
    """Terms of a sum that are written out: what they have in common stays in registers."""
    searched_indices: int = tuned(6, "indices", "time of the search, which tries all sets of them")
    """Indices, at most, of which all orders are compared; of more one index is taken at a time."""
    # compact_operands
    compacted_uses: int = tuned(16, "uses", _COUNTS)
    """Uses of each element of an operand that is read in steps, from which on a copy without the
    elements between pays."""
    # choose
    reciprocal_uses: int = tuned(16, "uses", _TIMES, "2026-11-24")
    """Elements that are divided by one number, from which on its reciprocal is worth a place of its
    own."""


REWRITE_COSTS = RewriteCosts()
"""The costs of rewrites of equations."""
