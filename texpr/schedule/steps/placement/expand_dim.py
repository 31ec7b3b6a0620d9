"""`expand_dim`: every iteration of a loop has an element of its own of a temporary, so that
iterations no longer take turns with one.
"""

from __future__ import annotations

from functools import reduce

from texpr.ir.build import maximum
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, plain
from texpr.ir.loop import For, Kernel, Prefetch, Store
from texpr.ir.traverse import rewrite, tensors
from texpr.passes.analysis.iteration_ranges import largest
from texpr.passes.analysis.substitution import over_tensors
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    find_loops,
    loops_around,
    private_temporaries,
    replace_loops,
    span_of,
)
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step("expand", order_of_sums="kept")
def expand_dim(kernel: Kernel, tensor: str, loop: str | Var) -> Kernel:
    """Give each iteration of a loop an element of its own of a temporary. Scalar expansion
    elsewhere.

    for j: { s = 0; for k: s += f[k, j]; Y[j] = s }   -- expand_dim("s", "j") -->   for j: { s[j] = 0; for k: s[j] += f[k, j]; Y[j] = s[j] }

    The tensor gets a last dimension. Legal if no value stays there from one iteration to the next.
    `fission` and `reorder` then move statements that would else overwrite what others still need.

    Raises:
        ScheduleError: no such temporary or loop, the loop does not hold all that uses it, a value
            is used in another iteration, or the loop's length has no known maximum.
    Source: Padua and Wolfe, Advanced Compiler Optimizations for Supercomputers, CACM 1986.
    Example:
        op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
        s = tx.schedule(op).split("i", 8).fold_storage("y_acc", 0)
        s.expand_dim("y_acc", "ii")
    Refused:
        tx.schedule(op).expand_dim("y_acc", "j")
    Elsewhere: Halide none; TVM none; Exo `expand_dim`; MLIR `transform.memref.multibuffer`.
    """
    t = find_temporary(kernel, tensor, "expand_dim")
    found = find_loops(kernel, loop)
    inside = [n for n in found if t in tensors(n)]
    if not inside or t in tensors(*replace_loops(kernel, inside, lambda n: ()).body):
        raise ScheduleError(
            f"`{found[0].var.name}` does not hold all that uses {tensor}",
            span_of(kernel, found[0]),
            code="expand_dim",
            help="name a loop around all of it",
        )
    for n in inside:
        if t not in private_temporaries(kernel, n, (t,)):
            raise ScheduleError(
                f"an iteration of `{n.var.name}` uses what another one left in {tensor}",
                span_of(kernel, n),
                code="expand_dim",
                help="expand_dim where every iteration writes what it reads",
            )
    wide = replace(t, dims=(*t.dims, *plain(reduce(maximum, (_longest(kernel, n) for n in inside)))))
    return over_tensors(replace_loops(kernel, inside, lambda n: _with_own_elements(n, t)), {t: wide})


def _with_own_elements(n: For, t: Tensor) -> For:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Read | Store | Prefetch) and node.tensor is t:
            return replace(node, indices=(*node.indices, n.var))
        return None

    return rewrite(n, rule)


def _longest(kernel: Kernel, n: For) -> Expr:
    """An extent that holds in every iteration of the loops around."""
    found: Expr | None = n.extent
    for m in reversed(loops_around(kernel, n)):
        found = None if found is None else largest(found, {m.var: m.extent})
    if found is None:
        raise ScheduleError(
            f"the length of `{n.var.name}` has no known maximum, so the elements have no place",
            span_of(kernel, n),
            code="expand_dim",
            help=f'split("{n.var.name}", 16), then expand_dim along the inner loop',
        )
    return found
