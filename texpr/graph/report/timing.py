"""What the kernels of a plan cost, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """What one launch costs.

    Attributes:
        name: of the kernel.
        shapes: of its inputs and outputs.
        milliseconds: median.
        gflops: 10^9 float operations per second.
    """

    name: str
    shapes: str
    milliseconds: float
    gflops: float


def timing_table(rows: Sequence[Timing]) -> str:
    """Timings as text, the most expensive first, equal ones added up."""
    totals: dict[tuple[str, str], list[Timing]] = {}
    for row in rows:
        totals.setdefault((row.name, row.shapes), []).append(row)
    lines = [f"{'operator':<28}{'calls':>6}{'ms':>10}{'GFLOP/s':>10}  shapes"]
    for (name, shapes), same in sorted(totals.items(), key=lambda item: -sum(r.milliseconds for r in item[1])):
        total = sum(r.milliseconds for r in same)
        rate = sum(r.gflops * r.milliseconds for r in same) / max(total, 1e-9)
        lines.append(f"{name:<28}{len(same):>6}{total:>10.3f}{rate:>10.2f}  {shapes}")
    return "\n".join(lines)
