"""`skew`: a loop shifted per iteration of one around it."""

from __future__ import annotations

from texpr.ir.build import add, compare, conjunction, mul, sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import For, Kernel
from texpr.ir.loop_kind import PARALLEL, SERIAL
from texpr.passes.analysis.iteration_ranges import largest
from texpr.passes.analysis.substitution import folded
from texpr.schedule.legality.rearrange import checked, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, loops_around, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

LARGEST_FACTOR = 1 << 16


@step(order_of_sums="kept")
def skew(kernel: Kernel, loop: str | Var, by: str | Var, factor: int = 1) -> Kernel:
    """Shift a loop by `factor` iterations per iteration of a loop around it. Always legal: the
    order is unchanged. Wavefronts elsewhere.

    for i in 0..m: for j in 0..n: S   ->   for i in 0..m: for j in 0..n + factor*(m-1): if 0 <= j - factor*i < n: S[j := j - factor*i]

    A dependence of distance (1, -1) becomes (1, 0), so that the loops can change places, be tiled,
    and the inner one run in parallel. Loops count from 0; where a condition cuts off iterations at
    the start or the end of a serial or parallel loop, none are run.

    Args:
        factor: may be negative.
    Raises:
        ScheduleError: `by` is not around the loop, a factor that is 0 or beyond 2^16, or an extent
            with no known maximum.
    Source: Wolfe, Loops Skewing: The Wavefront Method Revisited, International Journal of Parallel
    Programming 1986.
    Example:
        op = tx.op('''op wave(X: f32[M, N]) -> A: f32[M, N] {
          A[i, j] = max(A[i - 1, j | 0], A[i, j - 1 | 0]) + X[i, j]
        }''')
        s = tx.schedule(op)
        s.skew("j", "i")
    Refused:
        tx.schedule(op).skew("i", "j")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    at, around = find_loops(kernel, loop)[0], find_loops(kernel, by)[0]
    if not isinstance(factor, int) or isinstance(factor, bool) or not 0 < abs(factor) <= LARGEST_FACTOR:
        raise ScheduleError(
            f"skew factor {factor!r} is not an integer from 1 to 2^16, or its negative",
            span_of(kernel, at),
            code="skew",
        )
    if at.kind not in (SERIAL, PARALLEL):
        raise ScheduleError(
            f"`{at.var.name}` is marked {at.kind}, and the skewed loop would be another one",
            span_of(kernel, at),
            code="skew",
            help="skew first, then mark the loop",
        )
    if around is at:
        raise ScheduleError(
            f"`{at.var.name}` is skewed by itself",
            span_of(kernel, at),
            code="skew",
            help="by= names a loop around it",
        )
    if all(n.var is not around.var for n in loops_around(kernel, at)):
        raise ScheduleError(
            f"`{around.var.name}` is not around `{at.var.name}`",
            span_of(kernel, at),
            code="skew",
            help=f'reorder first, or skew("{around.var.name}", by="{at.var.name}")',
        )
    if _longest(at, around, factor) is None:
        raise ScheduleError(
            f"the extent of `{at.var.name}` has no known maximum over `{around.var.name}`",
            span_of(kernel, at),
            code="skew",
            help="skew a loop whose extent is affine",
        )

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        if not any(n.var is at.var for leaf in given for n in leaf.loops):
            return None
        return [_skewed(leaf, at, around, factor) if at in leaf.loops else leaf for leaf in given]

    return checked(
        kernel, rearranged(kernel, arrange), "skew", f'skew("{at.var.name}")', "leave the loop as it is"
    )


def _longest(at: For, around: For, factor: int) -> Expr | None:
    """The extent of the skewed loop, which does not depend on `around`."""
    own = largest(at.extent, {around.var: around.extent})
    return None if own is None else add(own, mul(sub(around.extent, index(1)), index(abs(factor))))


def _skewed(leaf: Leaf, at: For, around: For, factor: int) -> Leaf:
    extent = _longest(at, around, factor)
    assert extent is not None
    shift = (
        mul(around.var, index(factor))
        if factor > 0
        else mul(sub(sub(around.extent, index(1)), around.var), index(-factor))
    )
    old = sub(at.var, shift)
    inside = conjunction(compare("<=", index(0), old), compare("<", old, at.extent))
    loops = tuple(
        replace(n, extent=extent) if n.var is at.var else replace(n, extent=folded(n.extent, {at.var: old}))
        for n in leaf.loops
    )
    return replace(leaf, loops=loops, guards=(inside,), values={at.var: old})
