"""Tuned numbers of elementwise nests on CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"
_CODE = "length of the code; no times recorded"


@dataclass(frozen=True)
class ElementwiseCosts(CostModel):
    """Thresholds and block sizes of nests without reductions on CPUs."""

    # elementwise
    unrolled_cases: int = tuned(8, "iterations", _CODE)
    """Iterations of a loop, at most, that copies of a statement tell apart, where it asks which of
    them this is."""
    # interleaved_stores
    interleaved_registers: int = tuned(2, "registers", _TIMES, "2026-11-23")
    """Registers of each equation in an iteration, where vectors of several are interleaved."""
    # nontemporal
    rows_together: int = tuned(4, "rows", _TIMES, "2026-11-22")
    """Rows of a nest in one iteration, where that saves half of the reads; two where it saves less
    and elements are cheap."""
    row_operations: int = tuned(40, "operations", _TIMES, "2026-11-22")
    """Operations of an element, up to which several rows that have half of their reads in common
    are worth the code."""
    common_rows_l1_fraction: int = tuned(4, "part of L1", _TIMES, "2026-11-25")
    """One part of so many of L1 is what all rows may use in common, to find it there again."""
    operations_per_byte: float = tuned(0.5, "operations", _TIMES, "2026-11-25")
    """Operations for a byte of inputs and outputs, below which a kernel waits for memory and not
    for arithmetic."""
    # transpose
    transpose_blocks: int = tuned(2, "blocks for each core", _TIMES, "2026-11-25")
    """Blocks of transposed squares for each core, at least."""
    transpose_row_bytes: int = tuned(2048, "bytes", _TIMES, "2026-11-25")
    """Bytes of a row that are read one after the other, half a page, which memory gives faster than
    lines of their own: squares that come together."""


ELEMENTWISE_COSTS = ElementwiseCosts()
"""The costs of elementwise nests on CPUs."""
