"""`unroll_and_jam`: iterations of an outer loop run together in the loops inside."""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.schedule.legality.rearrange import checked, rearranged
from texpr.schedule.steps.loops.mark import MOST_STATEMENTS, unrolled
from texpr.schedule.steps.loops.reorder import in_scope
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, qualified, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step("jam", order_of_sums="kept")
def unroll_and_jam(kernel: Kernel, loop: str | Var, factor: int, *, tail: str = "peel") -> Kernel:
    """Run `factor` iterations of a loop together in each iteration of the loops inside it.
    Unroll-and-jam, register tiling elsewhere.

    for i: for k: S   -- unroll_and_jam("i", 4) -->   for io in 0..n/4: for k: S[i := 4*io]; S[i := 4*io + 1]; ... S[i := 4*io + 3]

    The loop is split, its inner part moved innermost and unrolled. Legal if every dependence keeps
    its direction.

    Args:
        tail: what becomes of the iterations that are left, as in `split`.
    Raises:
        ScheduleError: the loop cannot be split so, or an instance would run before one it needs.
        ResourceError: more than 4,096 statements would stand there.
    Source: Callahan, Carr and Kennedy, Improving Register Allocation for Subscripted Variables,
    PLDI 1990.
    Example:
        op = tx.op('''op product(A: f32[M, K], x: f32[K]) -> y: f32[M] {
          y[i] = sum(k: A[i, k] * x[k])
        }''')
        s = tx.schedule(op, M=64)
        s.unroll_and_jam("i", 2)
    Refused:
        op = tx.op('''op diagonal(X: f32[M, N]) -> A: f32[M, N] {
          A[i, j] = A[i - 1, j + 1 | 0] * 2 + X[i, j]
        }''')
        tx.schedule(op).unroll_and_jam("i", 2)
    Elsewhere: Halide `split`, `reorder` and `unroll`; TVM `split`, `reorder` and `unroll`; Exo
    `unroll_and_jam`; MLIR `transform.loop.unroll_and_jam`.
    """
    at = find_loops(kernel, loop)[0]
    if not isinstance(factor, int) or isinstance(factor, bool) or not 1 <= factor <= MOST_STATEMENTS:
        raise ScheduleError(
            f"unroll_and_jam of {factor!r} iterations: it takes from 1 to {MOST_STATEMENTS:,}",
            span_of(kernel, at),
            code="unroll_and_jam",
            help=f'as in unroll_and_jam("{at.var.name}", 4)',
        )
    name = f"{qualified(at)}i"
    cut = split(kernel, loop, factor, tail=tail)

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        if not any(qualified(n) == name for leaf in given for n in leaf.loops):
            return None
        return [in_scope(cut, _innermost(leaf, name)) for leaf in given]

    moved = rearranged(cut, arrange)
    after = checked(
        cut,
        moved,
        "unroll_and_jam",
        f'unroll_and_jam("{at.var.name}", {factor})',
        "take a loop whose iterations are independent",
    )
    return unrolled(after, name)


def _innermost(leaf: Leaf, name: str) -> Leaf:
    moved = tuple(n for n in leaf.loops if qualified(n) == name)
    return replace(leaf, loops=(*(n for n in leaf.loops if qualified(n) != name), *moved))
