"""Times of the kernels of a plan, one by one."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.support.frozen_dataclass import frozen
from texpr.support.table import Table

_TABLE = Table({"operator": "<", "calls": ">", "ms": ">.3f", "GFLOP/s": ">.2f", "shapes": "<"})


@frozen
class Timing:
    """The time of one launch.

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
    groups: dict[tuple[str, str], list[Timing]] = {}
    for row in rows:
        groups.setdefault((row.name, row.shapes), []).append(row)
    same = sorted(groups.values(), key=lambda rows: -sum(r.milliseconds for r in rows))
    return _TABLE.text(map(_cells, same))


def _cells(same: Sequence[Timing]) -> tuple[object, ...]:
    """A line of the table for launches of one kernel."""
    total = sum(r.milliseconds for r in same)
    rate = sum(r.gflops * r.milliseconds for r in same) / max(total, 1e-9)
    return same[0].name, len(same), total, rate, same[0].shapes
