"""Loops of one iteration inside of convolutions: joined with the loop around them before templates look.

    Y[n, k, i, j] = sum(c, r, s: X[n, c, i + r, j + s] * W[k, c, r, s])   with j in 0..1, s in 0..1
    Y[n, k, ij, 0] = sum(c, rs: X[n, c, ij + rs, 0] * W[k, c, rs, 0])

A convolution over images of one column is then one over a single axis. Templates would take its
columns, of one element, for the lanes of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.ir.affine import linear
from texpr.ir.loop import For
from texpr.schedule.analysis.access import unclamped


def join_single_iterations(builder: ScheduleBuilder) -> None:
    """Join the loops of one iteration of convolutions with those around them."""
    refused: set[tuple[str, str]] = set()
    while (pair := _pair(builder, refused)) is not None:
        outer, inner = pair
        if not builder.try_fuse(outer, inner, outer.var.name + inner.var.name):
            refused.add((outer.var.name, inner.var.name))


def _pair(builder: ScheduleBuilder, refused: set[tuple[str, str]]) -> tuple[For, For] | None:
    """The next two loops to join, of which the inner one has one iteration: the last ones over terms of
    a convolution, then those over its elements.
    """
    for nest in find_nests(builder.kernel):
        if nest.recurrent or nest.outer or nest.enclosing_loops or len(nest.accesses) != 3:
            continue
        if not nest.reduction or not _is_single(nest.spatial[-1:]) or not _slides(nest):
            continue
        for loops in (nest.reduction, nest.spatial):  # spatial loops last: they say which nests are meant
            outer, inner = loops[-2:] if len(loops) > 1 else (None, None)
            if outer is None or inner is None or not _is_single([inner]) or _is_single([outer]):
                continue
            if (outer.var.name, inner.var.name) not in refused:
                return outer, inner
    return None


def _slides(nest: Nest) -> bool:
    """True for a sum over a window, whose index is a place and a term."""
    return any(len(linear(unclamped(i)).terms) > 1 for a in nest.accesses[1:] for i in a.indices)


def _is_single(loops: Sequence[For]) -> bool:
    return bool(loops) and all(constant_extent(n) == 1 for n in loops)
