"""Cells of tables, and the mean of ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios: 1 for 2 and 1/2. NaN for none."""
    return statistics.geometric_mean(ratios) if ratios else math.nan


def seconds(value: float | None) -> str:
    """Three digits with a unit; a dash for None."""
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def ratio(value: float | None) -> str:
    """Two decimals; a dash for None."""
    return "-" if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """A share; a dash for None."""
    return "-" if value is None else f"{100 * value:.0f}%"


def bars(
    faster: Sequence[float], memory: Sequence[float], than: str, needed: tuple[float, float, float]
) -> str:
    """The last line of a table of networks: times as fast and shares of memory beside their bars.

    Args:
        than: the library that `faster` compares with.
        needed: bars of the geometric mean, of each, and of memory beside ONNX Runtime's.
    """
    mean, each, most = needed
    return (
        f"calls: {geometric_mean(faster):.2f} times as fast as {than} in geometric mean, bar {mean:.2f}; least "
        f"{min(faster, default=math.nan):.2f}, bar {each:.2f}; memory at most "
        f"{max(memory, default=math.nan):.2f} of ONNX Runtime's, bar {most:.2f}"
    )
