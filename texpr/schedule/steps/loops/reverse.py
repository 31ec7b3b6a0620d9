"""`reverse`: iterations from the last to the first."""

from __future__ import annotations

from texpr.ir.build import sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import Kernel
from texpr.passes.analysis.substitution import folded
from texpr.schedule.legality.rearrange import checked, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.frozen_dataclass import replace


@step()
def reverse(kernel: Kernel, loop: str | Var) -> Kernel:
    """Run the iterations from the last to the first. Loop reversal elsewhere.

    for v in 0..n: S   ->   for v in 0..n: S[v := n - 1 - v]

    Legal if no iteration needs another one: a dependence along the loop would turn around.

    Raises:
        ScheduleError: an instance would run before one it needs.
    Source: Wolf and Lam, A Loop Transformation Theory and an Algorithm to Maximize Parallelism,
    TPDS 1991.
    Example:
        op = tx.op("op ragged(X: f32[N, N]) -> Y: f32[N] { Y[i] = sum(j in 0..i + 1: X[i, j]) }")
        s = tx.schedule(op)
        s.reverse("i")
    Refused:
        tx.schedule(op).reverse("j")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    found = {n.var for n in find_loops(kernel, loop)}

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        if not any(n.var in found for leaf in given for n in leaf.loops):
            return None
        return [_reversed(leaf, found) for leaf in given]

    name = find_loops(kernel, loop)[0].var.name
    return checked(
        kernel,
        rearranged(kernel, arrange),
        "reverse",
        f'reverse("{name}")',
        "reverse a loop whose iterations are independent",
    )


def _reversed(leaf: Leaf, found: set[Var]) -> Leaf:
    values: dict[Var, Expr] = {
        n.var: sub(sub(n.extent, index(1)), n.var) for n in leaf.loops if n.var in found
    }
    loops = tuple(replace(n, extent=folded(n.extent, values)) for n in leaf.loops)
    return replace(leaf, loops=loops, values=values)
