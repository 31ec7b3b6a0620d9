"""`premultiply`: two factors of a sum of products are multiplied once, not for each term that has
them: a rewrite of the equations.

The certificate derives the old equations from the new ones
(`poly.certificate.rewrites.factor_out`).
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Axis, Expr, Mul, Read, Reduce, Tensor, Var, plain
from texpr.ir.loop import For, Kernel
from texpr.ir.printing.types import unused
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import factors, rewrite, variables
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.reduction_passes import reads_inside
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.schedule.steps.algebra.factor_out import as_in_factors, product, sum_along
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of
from texpr.schedule.structure.loops import find_loops, shortest, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "premultiply"


@step()
def premultiply(kernel: Kernel, loop: str | Var, first: int, second: int, *, reassoc: bool = False) -> Kernel:
    """Multiply two factors of the products that a loop over terms adds beforehand; their products
    have a tensor of their own.

    Y[i, j] = sum(k: A[i, k] * w[k] * B[k, j])   ->   Y_mul[k, j] = w[k] * B[k, j];  Y[i, j] = sum(k: A[i, k] * Y_mul[k, j])

    Legal for integers, of which it is the same number. Of floats it needs `reassoc=True`: they are
    multiplied in another order, and products may be infinite, or 0, on the way.

    Args:
        loop: over terms of a sum of three factors or more.
        first, second: which of them, in the order of the text, from 0.
        reassoc: floats may be multiplied in another order.
    Raises:
        ScheduleError: another step was applied, or the loop is none over terms of such a sum. The
            sum stands in several places, or it has no such factors or has conditions. The ranges of
            the indices of both factors depend on others, or what they read is not there for all of
            them. The step needs `reassoc=True`.
    Example:
        op = tx.op('''op gram(A: f32[N, K], w: f32[N]) -> G: f32[K, K] {
          G[i, j] = sum(n: A[n, i] * w[n] * A[n, j])
        }''')
        s = tx.schedule(op)
        s.premultiply("n", 0, 1, reassoc=True)
    Refused:
        tx.schedule(op).premultiply("n", 0, 3, reassoc=True)
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    if not isinstance(reassoc, bool):
        raise ScheduleError(f"`reassoc` is True or False, not {reassoc!r}", code=STEP)
    found = find_loops(kernel, loop)[0]
    program = equations_of(kernel, STEP)
    number, old, _ = sum_along(kernel, program, [found], STEP)
    given = factors(old.body)
    _check(kernel, found, len(given), first, second)
    if old.dtype.is_float and not reassoc:
        raise ScheduleError(
            f"premultiply in the terms of `{found.var.name}` changes the order of float products",
            span_of(kernel, found),
            code="exact",
            help=f'premultiply("{shortest(kernel, found)}", {first}, {second}, reassoc=True) permits it',
        )
    e = program.equations[number]
    assert isinstance(e, Equation)
    value = Mul(given[min(first, second)], given[max(first, second)])
    axes = _axes(kernel, found, program, e, old, value)
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    own: tuple[Expr, ...] = tuple(a.var for a in axes)
    t = Tensor(unused(f"{e.target.name}_mul", names), old.dtype, plain(*(a.hi for a in axes)), span=e.span)
    made = with_fresh_variables(Equation(t, own, axes, value, span=e.span))
    body = product(
        [
            Read(t, own) if k == max(first, second) else f
            for k, f in enumerate(given)
            if k != min(first, second)
        ]
    )
    changed = rewrite(e, lambda n: replace(old, body=body) if n is old else None)
    new = replace(
        program, equations=(*program.equations[:number], made, changed, *program.equations[number + 1 :])
    )
    return replace(loops_of(lazy_logic(new)), program=new, fma=kernel.fma)


def _check(kernel: Kernel, loop: For, count: int, first: object, second: object) -> None:
    """Both are factors of a sum that has a third one.

    Raises:
        ScheduleError: they are not.
    """
    if count < 3:
        raise ScheduleError(
            f"the terms of `{loop.var.name}` have {count} factors, and a product of them is all that is "
            f"added",
            span_of(kernel, loop),
            code=STEP,
            help="name a loop over terms of three factors or more",
        )
    for n in (first, second):
        if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < count:
            raise ScheduleError(
                f"the terms of `{loop.var.name}` have {count} factors, and {n!r} is none of them",
                span_of(kernel, loop),
                code=STEP,
                help=f"factors are counted from 0 to {count - 1}, as they are written",
            )
    if first == second:
        raise ScheduleError(
            f"factor {first!r} is named twice", span_of(kernel, loop), code=STEP, help="name two factors"
        )


def _axes(
    kernel: Kernel, loop: For, program: Program, e: Equation, old: Reduce, value: Expr
) -> tuple[Axis, ...]:
    """The indices of a product of two factors, in the order in which these have them.

    Raises:
        ScheduleError: it is not there for all of them, or they have ranges that depend on each
            other.
    """
    every = [*e.axes, *old.axes]
    used = [a for a in every if a.var in variables(value)]
    if e.where is not None or old.where is not None:
        raise ScheduleError(
            f"the sum over `{loop.var.name}` has conditions",
            span_of(kernel, loop),
            code=STEP,
            help="give the product of both factors an equation of its own",
        )
    bound = next((a for a in used if variables(a.lo, a.hi) & {b.var for b in every}), None)
    if bound is not None:
        raise ScheduleError(
            f"the range of `{bound.var.name}` depends on another index",
            span_of(kernel, loop),
            code=STEP,
            help="give the product of both factors an equation of its own",
        )
    if not reads_inside(replace(old, axes=(), body=value), used, program.requires):
        raise ScheduleError(
            "what both factors read is not proven to be there for all of their indices",
            span_of(kernel, loop),
            code=STEP,
            help="give the product of both factors an equation of its own",
        )
    order: Sequence[Var] = as_in_factors(value, [a.var for a in used])
    return tuple(sorted(used, key=lambda a: order.index(a.var)))
