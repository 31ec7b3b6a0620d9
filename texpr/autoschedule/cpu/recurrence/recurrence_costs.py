"""Tuned numbers of recurrences on CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"


@dataclass(frozen=True)
class RecurrenceCosts(CostModel):
    """Thresholds and block sizes of recurrences on CPUs."""

    # wavefront
    wavefront_iterations: int = tuned(64, "iterations", _TIMES, "2026-11-22")
    """Iterations of a row for which the start and the end of a wavefront, where few rows run, do
    not matter."""
    wavefront_rows: int = tuned(8, "rows", _TIMES, "2026-11-22")
    """Rows that follow each other at a distance."""
    wavefront_distance: int = tuned(2, "iterations", "dependences of stencils; no times recorded")
    """Iterations, at most, by which a row is behind the one above it."""
    chains: int = tuned(4, "rows", _TIMES, "2026-11-23")
    """Rows side by side: as many chains as keep a divider busy, or sums nearly so."""
    # blocked
    block_registers: int = tuned(2, "registers", _TIMES, "2026-11-24")
    """Registers of sums in a tile: chains of additions that overlap, of which the terms within a
    tile have none."""
    block_tiles: int = tuned(4, "tiles", _TIMES, "2026-11-24")
    """Tiles below which most terms come from within."""
    peeled_terms: int = tuned(2, "terms", "recurrences over intervals; no times recorded")
    """Terms, at most, beside one for each earlier element: they are peeled off."""


RECURRENCE_COSTS = RecurrenceCosts()
"""The costs of recurrences on CPUs."""
