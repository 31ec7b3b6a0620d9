"""`peel`: the first and last iterations of a loop get loops of their own, and what lies between
loses its guards.
"""

from __future__ import annotations

from texpr.ir.build import add, integer, maximum, minimum, sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import For, Kernel, Stmt
from texpr.passes.analysis.substitution import folded, folded_anew, over_tensors, with_fresh_variables
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    find_loops,
    private_copies,
    replace_loops,
    span_of,
    with_temporaries,
)
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

MOST_ITERATIONS = 1 << 31


@step(order_of_sums="kept")
def peel(kernel: Kernel, loop: str | Var, first: int, last: int) -> Kernel:
    """Run the first and the last iterations in loops of their own. Always legal: the order is
    unchanged. Index set splitting elsewhere.

    for v in 0..n: S   ->   for v in 0..first: S;  for v in first..n-last: S;  for v in n-last..n: S

    In the middle, conditions and clamps that only matter at the edges go away. The three loops keep
    the name.

    Of a loop with a symbolic extent, each part has as many iterations as are left for it.

    Raises:
        ScheduleError: counts below 0 or above 2^31, or more than a loop of constant extent has.
    Example:
        op = tx.op("op steps(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] - X[i - 1 | 0] }")
        s = tx.schedule(op)
        s.peel("i", 1, 0)
    Refused:
        tx.schedule(op, N=8).peel("i", 9, 0)
    Elsewhere: Halide none; TVM `loop_partition`; Exo `cut_loop`; MLIR `transform.loop.peel`.
    """
    found = find_loops(kernel, loop)
    for count in (first, last):
        if not isinstance(count, int) or isinstance(count, bool) or count > MOST_ITERATIONS:
            raise ScheduleError(
                f"peel takes numbers of iterations up to 2^31, not {count!r}",
                span_of(kernel, found[0]),
                code="peel",
            )
    for n in found:
        extent = integer(n.extent)
        if first < 0 or last < 0 or first + last == 0 or (extent is not None and extent < first + last):
            size = "a symbolic extent" if extent is None else f"{extent} iterations"
            raise ScheduleError(
                f"peel takes {first} and {last} iterations from `{n.var.name}`, which has {size}",
                span_of(kernel, n),
                code="peel",
                help="give counts of at least 0 that fit",
            )
    own = {n.var: (private_copies(kernel, n, "first"), private_copies(kernel, n, "last")) for n in found}

    def make(n: For) -> tuple[Stmt, ...]:
        head, tail = own[n.var]
        before, after = _counts(n.extent, first, last)
        start = maximum(
            sub(n.extent, index(last)), index(first)
        )  # where fewer are left, and so none run in the middle
        between = maximum(sub(n.extent, index(first + last)), index(0))
        again = replace(n.var)
        rest = tuple(folded_anew(s, {n.var: add(again, start)}) for s in n.body)
        parts = [
            over_tensors(with_fresh_variables(replace(n, extent=before)), head),
            replace(
                n, extent=between, body=tuple(folded(s, {n.var: add(n.var, index(first))}) for s in n.body)
            ),
            over_tensors(replace(n, var=again, extent=after, body=rest), tail),
        ]
        return tuple(p for p in parts if integer(p.extent) != 0)

    after = replace_loops(kernel, found, make)
    return drop_guards(
        with_temporaries(after, [t for pair in own.values() for each in pair for t in each.values()])
    )


def _counts(extent: Expr, first: int, last: int) -> tuple[Expr, Expr]:
    """Numbers of iterations before and after the middle."""
    before = minimum(index(first), extent) if first else index(0)
    left = maximum(sub(extent, index(first)), index(0)) if first else extent
    return before, minimum(index(last), left) if last else index(0)
