"""Nested parallel loops share out the iterations of both, where the outer one alone may have too
few for all threads.
"""

from __future__ import annotations

from texpr.ir.build import add, floordiv, integer, maximum, minimum, mul, sub
from texpr.ir.expr import Expr, Node, Var, index
from texpr.ir.loop import For, If, Kernel
from texpr.ir.loop_kind import PARALLEL, Parallel
from texpr.ir.traverse import rewrite, variables
from texpr.passes.analysis.substitution import folded
from texpr.passes.loop.insert_polls import work

ENOUGH = 256
"""An outer loop of at least so many iterations is shared out alone."""
GRAIN = 1 << 14
"""Statements that a thread takes at once."""


def share_nests(kernel: Kernel) -> Kernel:
    """for i in 0..m parallel: for j in 0..n parallel: S
    ->   for ij in 0..ceil(m*n / g) parallel: for the rows i that iterations g*ij to g*ij + g - 1 of m*n are in: for j in their part of i: S

    Collapsing elsewhere; in ranges of iterations, so that there are two divisions per range and
    none per iteration. Where m*n does not fit 64 bits, neither would the time.
    """

    def rule(node: Node) -> Node | None:
        match node:
            case For(var, m, (For(_, n, _, Parallel()) as inner,), Parallel()) if (
                var not in variables(n) and (integer(m) or 0) < ENOUGH
            ):
                return _shared(node, inner)
        return None

    return rewrite(kernel, rule, keep=lambda n: not isinstance(n, For | If | Kernel))  # type: ignore[return-value]


def _shared(outer: For, inner: For) -> For:
    grain = index(max(1, GRAIN // max(1, sum(map(work, inner.body)))))
    both, row, column = Var(outer.var.name + inner.var.name), Var(outer.var.name), Var(inner.var.name)
    count = mul(outer.extent, inner.extent)
    first = mul(both, grain)
    end = minimum(count, add(first, grain))
    top = floordiv(first, inner.extent)
    rows = add(sub(floordiv(sub(end, index(1)), inner.extent), top), index(1))
    i = add(top, row)
    start = maximum(index(0), sub(first, mul(i, inner.extent)))
    stop = minimum(inner.extent, sub(end, mul(i, inner.extent)))
    values: dict[Var, Expr] = {outer.var: i, inner.var: add(start, column)}
    part = For(column, sub(stop, start), tuple(folded(s, values) for s in inner.body), tensor=inner.tensor)
    ranges = floordiv(add(count, sub(grain, index(1))), grain)
    return For(both, ranges, (For(row, rows, (part,), tensor=outer.tensor),), PARALLEL, outer.tensor)
