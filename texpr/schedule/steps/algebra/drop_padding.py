"""`drop_padding`: terms of a sum that are 0 because a factor lies outside of its tensor are left
out: a rewrite of the equations.

What stands outside (`X[i + k - 1 | 0]`) is multiplied like everything else, so that 0 times infinity is NaN. Where all other factors are
finite, such terms are 0 and the sum does not need them. The certificate derives the old equations
from the new ones (`poly.certificate.rewrites.drop_padding`).
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir.build import compare, conjunction, conjuncts
from texpr.ir.expr import Axis, Cast, Const, Expr, Mul, Read, Reduce, Var, index
from texpr.ir.loop import Kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, rewrite, variables
from texpr.passes.loop.simplify_guards import drop_implied
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.poly import always
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of, reduction_along
from texpr.schedule.structure.loops import find_loops, shortest, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step("trim")
def drop_padding(kernel: Kernel, loop: str | Var, *, finite: bool = False) -> Kernel:
    """Leave out the terms along a loop over terms that are 0 because one of their factors lies
    outside of its tensor.

    Y[i] = sum(k: X[i + k - 1 | 0] * w[k])   ->   Y[i] = sum(k where i + k - 1 >= 0 and i + k - 1 < N: X[i + k - 1 | 0] * w[k])

    In the loops, reads that lie inside by these conditions have none of their own.

    Legal with `finite=True`, which permits to leave out 0 times infinity or NaN. No bit of a sum
    changes while the other factors are finite: a sum that starts at +0 is never -0 in between, and
    x + 0 is x. It is
    the first step of a schedule; `partition` makes ranges of the conditions.

    Args:
        loop: over terms of a sum of floats.
        finite: whatever a float times 0 gives may be left out.
    Raises:
        ScheduleError: another step was applied, the loop is none over terms of a sum of products
            that have a factor which is 0 outside of its tensor along the loop, or the step needs
            `finite=True`.
    Example:
        op = tx.op('''op smooth(X: f32[N], w: f32[Q]) -> Y: f32[N] {
          Y[i] = sum(q: X[i + q - 1 | 0] * w[q])
        }''')
        s = tx.schedule(op)
        s.drop_padding("q", finite=True)
    Refused:
        tx.schedule(op).drop_padding("q")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    if not isinstance(finite, bool):
        raise ScheduleError(f"`finite` is True or False, not {finite!r}", code="drop_padding")
    (found, *_) = find_loops(kernel, loop)
    program = equations_of(kernel, "drop_padding")
    along = reduction_along(kernel, program, found)
    conditions = [] if along is None else _conditions(program, *along)
    if along is None or not conditions:
        raise ScheduleError(
            f"no sum along `{found.var.name}` has a factor that is 0 outside of its tensor",
            span_of(kernel, found),
            code="drop_padding",
            help="take a loop over terms that stands in the index of a read such as X[i + k | 0]",
        )
    if not finite:
        raise ScheduleError(
            f"drop_padding of `{found.var.name}` leaves out 0 times infinity, which is NaN",
            span_of(kernel, found),
            code="exact",
            help=f'drop_padding("{shortest(kernel, found)}", finite=True) permits it',
        )
    number, old, _ = along
    known = [] if old.where is None else conjuncts(old.where)
    fewer = replace(old, where=conjunction(*known, *conditions))
    changed = rewrite(program.equations[number], lambda n: fewer if n is old else None)
    new = replace(program, equations=(*program.equations[:number], changed, *program.equations[number + 1 :]))
    return replace(drop_implied(loops_of(lazy_logic(new))), program=new, fma=kernel.fma)


def _conditions(program: Program, number: int, reduction: Reduce, axis: Axis) -> list[Expr]:
    """Without which a factor of a term is 0 since it lies outside of its tensor along an axis."""
    if reduction.op != "sum" or not reduction.dtype.is_float:
        return []
    e = program.equations[number]
    assert isinstance(e, Equation)
    axes = (*e.axes, *reduction.axes)
    known = [] if reduction.where is None else conjuncts(reduction.where)
    return [
        c
        for c in _inside(reduction.body, axis.var)
        if not any(equal(c, k) for k in known) and not always(c, axes, (*program.requires, *known))
    ]


def _inside(term: Expr, v: Var) -> Iterator[Expr]:
    """Conditions along a variable without which a factor of a term lies outside of its tensor
    and is 0.
    """
    for read in _factors(term):
        if read.guard is not None and read.guard.mode == "value" and _is_zero(read.guard.value):
            for i, size in zip(read.indices, read.tensor.shape):
                if v in variables(i):
                    yield compare(">=", i, index(0))
                    yield compare("<", i, size)


def _factors(term: Expr) -> Iterator[Read]:
    """Reads that a term is 0 with. Depth is that of the product."""
    match term:
        case Mul(lhs, rhs):
            yield from _factors(lhs)
            yield from _factors(rhs)
        case Cast(operand) if term.dtype.is_float and operand.dtype.is_float:
            yield from _factors(operand)
        case Read():
            yield term


def _is_zero(e: Expr | None) -> bool:
    return isinstance(e, Const) and e.value == 0
