"""Numbers of instances of axes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Axis


def points(axes: Iterable[Axis]) -> int:
    """Instances of axes with constant ranges; a bound that is no number counts as one instance."""
    ends = [(integer(a.lo), integer(a.hi)) for a in axes]
    return prod(max(0, hi - lo) if lo is not None and hi is not None else 1 for lo, hi in ends)
