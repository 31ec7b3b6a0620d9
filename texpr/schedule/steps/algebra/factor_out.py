"""`factor_out`: factors that do not depend on an index are taken out of the sum over it: a rewrite
of the equations.

So a product of several tensors is summed index by index, as if it were written as several
equations. The certificate derives the old equations from the new ones
(`poly.certificate.rewrites.factor_out`).
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import compare, conjunction, conjuncts
from texpr.ir.expr import Expr, Mul, Node, Read, Reduce, Tensor, Var
from texpr.ir.loop import For, Kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children, factors, rewrite, variables, walk
from texpr.passes import hoist
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.poly import always
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of, reduction_along
from texpr.schedule.structure.loops import find_loops, shortest, span_of
from texpr.support.errors import CheckError, ScheduleError
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Span

STEP = "factor_out"


@step()
def factor_out(kernel: Kernel, *loops: str | Var, reassoc: bool = False, finite: bool = False) -> Kernel:
    """Take the factors that do not depend on loops over terms out of the sum over these; the sum of
    the others has a tensor of its own.

    Y[i, l] = sum(j, k: A[i, j] * B[j, k] * C[k, l])
    ->   Y_sum[j, l] = sum(k: B[j, k] * C[k, l]);  Y[i, l] = sum(j: A[i, j] * Y_sum[j, l])

    Several loops are summed together. The new tensor has its dimensions in the order in which its
    factors have them.

    Legal for integers: products distribute over sums however they wrap. Of floats it needs
    `reassoc=True`: they are rounded otherwise, and a sum may be infinite where its products with
    the other factors are not. Where a sum may have no terms, its product with infinity is NaN.

    Args:
        loops: over terms of one sum of products.
        reassoc: floats may be multiplied and added in another order.
        finite: whatever 0 times a float gives may be added.
    Raises:
        ScheduleError: another step was applied, or the loops are not over terms of one sum of
            products of which some do not depend on them. A range depends on them, or the sum
            stands in several places. The step needs `reassoc=True` or `finite=True`.
    Source: Lam, Sadayappan, Wenger, On Optimizing a Class of Multi-Dimensional Loops with
    Reductions, Parallel Processing Letters 1997.
    Example:
        op = tx.op('''op chain(A: f32[I, J], B: f32[J, K], x: f32[K]) -> y: f32[I] {
          y[i] = sum(j, k: A[i, j] * B[j, k] * x[k])
        }''')
        s = tx.schedule(op, I=64, J=64, K=64)
        s.factor_out("k", reassoc=True)
    Refused:
        tx.schedule(op).factor_out("k")
    Elsewhere: Halide none; TVM none; Exo `lift_reduce_constant`; MLIR none.
    """
    for name, value in (("reassoc", reassoc), ("finite", finite)):
        if not isinstance(value, bool):
            raise ScheduleError(f"`{name}` is True or False, not {value!r}", code=STEP)
    if not loops:
        raise ScheduleError(
            "factor_out needs a loop over terms", code=STEP, help='factor_out("k", reassoc=True)'
        )
    found = [find_loops(kernel, loop)[0] for loop in loops]
    program = equations_of(kernel, STEP)
    number, old, inside = sum_along(kernel, program, found, STEP)
    spelled = "factor_out(" + ", ".join(f'"{shortest(kernel, n)}"' for n in found)
    if old.dtype.is_float and not reassoc:
        raise ScheduleError(
            f"factor_out of `{found[0].var.name}` changes the order of a float sum",
            span_of(kernel, found[0]),
            code="exact",
            help=f"{spelled}, reassoc=True) permits it",
        )
    new = _apart(old, inside, span_of(kernel, found[0]))
    if old.dtype.is_float and not finite and _may_be_empty(program, number, old, new):
        raise ScheduleError(
            f"the sum over `{found[0].var.name}` may have no terms, and 0 times infinity is NaN",
            span_of(kernel, found[0]),
            code="exact",
            help=f"{spelled}, reassoc=True, finite=True) permits it",
        )
    changed = rewrite(program.equations[number], lambda n: new if n is old else None)
    equations = (*program.equations[:number], changed, *program.equations[number + 1 :])
    try:
        apart = hoist(replace(program, equations=equations))
    except CheckError as e:
        raise ScheduleError(str(e.message), span_of(kernel, found[0]), code=STEP, help=e.help) from None
    apart = _as_factors_lie(apart, {*apart.temporaries} - {*program.temporaries})
    return replace(loops_of(lazy_logic(apart)), program=apart, fma=kernel.fma)


def sum_along(
    kernel: Kernel, program: Program, loops: Sequence[For], step: str
) -> tuple[int, Reduce, set[Var]]:
    """The equation that has the sum of products over these loops, the sum, and the indices that the
    loops stand for.

    Raises:
        ScheduleError: they are not over terms of one such sum, or its equation has the sum in
            several places.
    """
    along = [reduction_along(kernel, program, loop) for loop in loops]
    for loop, each in zip(loops, along):
        if (
            each is None
            or each[1].op != "sum"
            or each[1].dtype != each[1].body.dtype
            or not isinstance(each[1].body, Mul)
        ):
            raise ScheduleError(
                f"`{loop.var.name}` is no loop over terms of a sum of products",
                span_of(kernel, loop),
                code=step,
                help="name a loop over terms, such as k of sum(j, k: A[i, j] * B[j, k] * C[k, l])",
            )
    (number, old, _), *_ = known = [each for each in along if each is not None]
    for loop, (_, other, _) in zip(loops, known):
        if other is not old:
            raise ScheduleError(
                f"`{loop.var.name}` and `{loops[0].var.name}` are not over terms of one sum",
                span_of(kernel, loop),
                code=step,
                help="take one after the other: a step for each",
            )
    if _places(program.equations[number], old) > 1:
        raise ScheduleError(
            f"the equation has the sum over `{loops[0].var.name}` in several places",
            old.span or span_of(kernel, loops[0]),
            code=step,
            help="give the sum an equation of its own: T[i] = sum(...), and Y[i] of T[i]",
        )
    return number, old, {axis.var for _, _, axis in known}


def _places(root: Node, wanted: Reduce) -> int:
    """The number of places of a reduction in an equation."""
    count, stack = 0, [root]
    while stack:
        node = stack.pop()
        count += node is wanted
        stack += () if node is wanted else children(node)
    return count


def _apart(old: Reduce, inside: set[Var], span: Span) -> Reduce | Mul:
    """A sum with the sum over some of its indices inside, without the factors that do not depend on
    these.

    Raises:
        ScheduleError: all factors depend on them, a range of another index does, or conditions on
            data cannot be taken apart.
    """
    names = ", ".join(f"`{a.var.name}`" for a in old.axes if a.var in inside)
    within = [f for f in factors(old.body) if variables(f) & inside]
    outside = [f for f in factors(old.body) if not variables(f) & inside]
    if not within:
        raise ScheduleError(
            f"no factor of the sum depends on {names}",
            span,
            code=STEP,
            help="multiply by the number of terms instead",
        )
    if not outside:
        raise ScheduleError(
            f"all factors of the sum depend on {names}",
            span,
            code=STEP,
            help="name a loop that stands in some of the factors alone",
        )
    left = [a for a in old.axes if a.var not in inside]
    bound = next((a for a in left if variables(a.lo, a.hi) & inside), None)
    if bound is not None:
        raise ScheduleError(
            f"the range of `{bound.var.name}` depends on {names}",
            span,
            code=STEP,
            help=f"name `{bound.var.name}` as well, or write the range as a condition behind `where`",
        )
    known = [] if old.where is None else conjuncts(old.where)
    mine = [c for c in known if variables(c) & inside]
    if mine and any(isinstance(n, Read) for c in known for n in walk(c)):
        raise ScheduleError(
            f"the sum over {names} has conditions on data",
            span,
            code=STEP,
            help="give the factors that are under them an equation of their own",
        )
    others = [c for c in known if not variables(c) & inside]
    under = mine if left else known
    inner = replace(
        old,
        axes=tuple(a for a in old.axes if a.var in inside),
        body=product(within),
        where=conjunction(*under) if under else None,
    )
    body = product([*outside, inner] if variables(factors(old.body)[-1]) & inside else [inner, *outside])
    if not left:
        return body  # type: ignore[return-value]
    return replace(old, axes=tuple(left), body=body, where=conjunction(*others) if others else None)


def product(given: Sequence[Expr]) -> Expr:
    """The product of some factors, one after the other."""
    result, *rest = given
    for f in rest:
        result = Mul(result, f)
    return result


def _may_be_empty(program: Program, number: int, old: Reduce, new: Expr) -> bool:
    """True if the inner sum is not proven to have terms wherever the outer one has."""
    inner = next(n for n in walk(new) if isinstance(n, Reduce) and n is not new)
    e = program.equations[number]
    around = (*e.axes, *(a for a in old.axes if a not in inner.axes))  # type: ignore[union-attr]
    ranges = [compare("<", a.lo, a.hi) for a in inner.axes]
    apart = not variables(*ranges) & {a.var for a in inner.axes}
    return inner.where is not None or not apart or not always(conjunction(*ranges), around, program.requires)


def _as_factors_lie(program: Program, made: set[Tensor]) -> Program:
    """The program with the dimensions of new sums in the order in which their factors have them:
    what lies side by side there stays so.
    """
    orders = {e.target: _order(e) for e in program.equations if isinstance(e, Equation) and e.target in made}
    new = {t: replace(t, dims=tuple(t.dims[k] for k in order)) for t, order in orders.items()}

    def rule(n: Node) -> Node | None:
        match n:
            case Read(tensor, indices) if tensor in new:
                return replace(n, tensor=new[tensor], indices=tuple(indices[k] for k in orders[tensor]))
            case Equation(target, indices, axes) if target in new:
                order = orders[target]
                return replace(
                    n,
                    target=new[target],
                    indices=tuple(indices[k] for k in order),
                    axes=tuple(axes[k] for k in order),
                )
        return None

    return rewrite(program, rule)


def _order(e: Equation) -> list[int]:
    """The positions of an equation's axes as its factors have them, in the given order where a
    range depends on another index.
    """
    given = list(range(len(e.axes)))
    if {a.var for a in e.axes} & variables(*(n for a in e.axes for n in (a.lo, a.hi))):
        return given
    order = as_in_factors(e.value, [a.var for a in e.axes])
    return sorted(given, key=lambda k: order.index(e.axes[k].var))


def as_in_factors(value: Expr, indices: Sequence[Var]) -> list[Var]:
    """Indices in the order in which all reads of a value have them; of those that they do not tell
    apart, or have in different orders, the first that is read.
    """
    met = [n for n in walk(value) if isinstance(n, Var)]
    left = sorted(indices, key=lambda v: met.index(v) if v in met else len(met))
    reads = [
        [v for i in n.indices for v in left if v in variables(i)] for n in walk(value) if isinstance(n, Read)
    ]
    result: list[Var] = []
    while left:
        behind = {v for r in reads for v in [v for v in r if v in left][1:]}
        result.append(next((v for v in left if v not in behind), left[0]))
        left.remove(result[-1])
    return result
