"""Aligned tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns of equal width: the first flush left, the others flush right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    return "\n".join("  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios: 1 for 2 and 1/2. NaN for none."""
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


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
