"""Bounds of indices whose variables have constant ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from texpr.ir.affine import Linear
from texpr.ir.build import integer
from texpr.ir.expr import Axis, Var

Bounds = Mapping[Var, tuple[int, int]]
"""Smallest and largest value of index variables."""


def bounds_of(axes: Iterable[Axis]) -> dict[Var, tuple[int, int]]:
    """Bounds of the axes whose ends are numbers, and that have values."""
    ends = ((a.var, integer(a.lo), integer(a.hi)) for a in axes)
    return {v: (lo, hi - 1) for v, lo, hi in ends if lo is not None and hi is not None and lo < hi}


def extremes(form: Linear, bounds: Bounds) -> tuple[int, int] | None:
    """The smallest and the largest value of a form; None where a term has no bounds."""
    low = high = form.constant
    for term, c in form.terms:
        if term not in bounds:
            return None
        ends = [c * end for end in bounds[term]]  # type: ignore[index]
        low, high = low + min(ends), high + max(ends)
    return low, high
