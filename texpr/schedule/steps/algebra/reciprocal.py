"""`reciprocal`: divisors that are the same along an axis are inverted once: a rewrite of the
equations.

A quotient costs a processor several times what a product does. The certificate derives the old
equations from the new ones (`poly.certificate.rewrites.reciprocal`).
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir.build import compare, conjunction, integer
from texpr.ir.expr import Axis, Const, Div, Expr, Mul, Node, Read, Reduce, Select, Tensor, Var, plain
from texpr.ir.index.float_lower_bounds import least_of_tensors, reciprocal_is_normal, single_definitions
from texpr.ir.loop import Kernel
from texpr.ir.printing.types import unused
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, equal, free_variables, rewrite, variables, walk
from texpr.passes.analysis.iteration_ranges import needed_by
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.poly import always
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "reciprocal"


@step()
def reciprocal(kernel: Kernel, tensor: str) -> Kernel:
    """Multiply by the reciprocals of divisors that are the same along an axis, which are computed
    once.

    Y[i, j] = X[i, j] / d[i]   ->   Y_inv[i] = 1 / d[i];  Y[i, j] = X[i, j] * Y_inv[i]

    Legal if no divisor is so small that its reciprocal is infinite: each is at least the least
    normal number, or NaN. That is proven from the equations alone: by a bound such as `max(d,
    1e-9)` or `sqrt(v + 1e-5)`, by sums of terms that are not negative, and for `sum(k: exp(f(k) -
    max(k: f(k))))`, which has 1 among its terms.

    A product is rounded twice. Relative to the exact quotient it is wrong by at most 2^-23 in f32
    and 2^-52 in f64. Where the divisor is above a quarter of the largest number, it is 2^-21 and
    2^-50. It is a first step of a schedule.

    Args:
        tensor: whose equations divide.
    Raises:
        ScheduleError: another step was applied, no such tensor, no equation of it divides floats by
            what is the same along one of its axes, or such a divisor may be so small that its
            reciprocal is infinite.
    Example:
        op = tx.op('''op scaled(X: f32[M, N], d: f32[M]) -> Y: f32[M, N] {
          Y[i, j] = X[i, j] / max(d[i], 0.001)
        }''')
        s = tx.schedule(op)
        s.reciprocal("Y")
    Refused:
        op = tx.op('''op divided(X: f32[M, N], d: f32[M]) -> Y: f32[M, N] {
          Y[i, j] = X[i, j] / d[i]
        }''')
        tx.schedule(op).reciprocal("Y")
    Elsewhere: Halide none; TVM none; Exo none; MLIR `fastmath<arcp>` (an attribute).
    """
    program, target = equations_of(kernel, STEP), find_tensor(kernel, tensor)
    defining = [e for e in program.equations if isinstance(e, Equation) and e.target.name == target.name]
    quotients = {id(e): each for e in defining if (each := list(_quotients(e)))}
    if not quotients:
        span = defining[0].span if defining else target.span
        raise ScheduleError(
            f"`{tensor}` is not divided by floats that are the same along one of its axes",
            span,
            code=STEP,
            help="name a tensor with an equation such as Y[i, j] = X[i, j] / d[i]",
        )
    tensors, definitions = least_of_tensors(program), single_definitions(program)
    for e in program.equations:
        for q in quotients.get(id(e), ()):
            if not reciprocal_is_normal(q.rhs, tensors, definitions):
                raise ScheduleError(
                    f"a divisor of `{tensor}` is not proven to be so large that its reciprocal is finite",
                    e.span,
                    code=STEP,
                    help="divide by max(d, 1e-30), by sqrt(v + 1e-5), or leave the quotient as it is",
                )
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    changed: list[Equation | Invoke] = []
    for each in program.equations:
        found = quotients.get(id(each))
        changed += (
            _inverted(each, found, names, program.requires)
            if isinstance(each, Equation) and found
            else [each]
        )
    new = replace(program, equations=tuple(changed))
    return replace(loops_of(lazy_logic(new)), program=new, fma=kernel.fma)


def divided(kernel: Kernel, least: int) -> list[str]:
    """Tensors of a naive kernel that `reciprocal` would take with profit: a divisor serves so many
    elements, or an unknown number.

    Behind a sum a quotient costs little. Quotients by constants stay what they are to the last bit.
    """
    if not any(isinstance(n, Div) for n in walk(kernel)):
        return []
    program = equations_of(kernel, STEP)
    tensors, definitions = least_of_tensors(program), single_definitions(program)
    found = {
        e.target.name: None
        for e in program.equations
        if isinstance(e, Equation)
        for q in _quotients(e)
        if _uses(e, q) >= least and reciprocal_is_normal(q.rhs, tensors, definitions)
        if not any(isinstance(n, Reduce) for n in walk(e.value))
        and any(isinstance(n, Read) for n in walk(q.rhs))
    }
    return list(found)


def _uses(e: Equation, q: Div) -> int:
    """Number of elements that share a divisor, a symbolic extent counting as many."""
    over = _axes_of(e, q.rhs)
    found = 1
    for a in e.axes:
        extent = integer(a.hi)
        found *= 1 if a in over else 1 << 20 if extent is None else extent
    return found


def _quotients(e: Equation) -> Iterator[Div]:
    """Quotients whose divisor is the same along an axis of the equation, and which all of its
    instances compute: none under a condition or in a sum.
    """
    own = {a.var for a in e.axes}
    stack: list[Node] = [] if e.where is not None else [e.value]
    while stack:
        n = stack.pop()
        if isinstance(n, Div) and n.dtype.is_float:
            over = _axes_of(e, n.rhs)
            if len(over) < len(e.axes) and not any(own & variables(a.lo, a.hi) for a in over):
                yield n
        stack += () if isinstance(n, Reduce | Select | Read) else children(n)


def _axes_of(e: Equation, divisor: Expr) -> tuple[Axis, ...]:
    needed = needed_by(e.axes, free_variables(divisor))
    return tuple(a for a in e.axes if a.var in needed)


def _some(e: Equation, axes: tuple[Axis, ...], requires: tuple[Expr, ...]) -> Expr | None:
    """Condition that the equation has instances along its other axes: elsewhere the divisor need
    not be there.
    """
    some = conjunction(*(compare("<", a.lo, a.hi) for a in e.axes if a not in axes))
    return None if always(some, axes, requires) else some


def _inverted(
    e: Equation, quotients: list[Div], names: set[str], requires: tuple[Expr, ...]
) -> list[Equation | Invoke]:
    """The reciprocals of an equation's divisors, and the equation with products by them."""
    inverses: list[tuple[Expr, Read, Equation]] = []
    factors: dict[int, Expr] = {}
    for q in quotients:
        known = next((read for divisor, read, _ in inverses if equal(divisor, q.rhs)), None)
        if known is None:
            axes = _axes_of(e, q.rhs)
            own: tuple[Var, ...] = tuple(a.var for a in axes)
            t = Tensor(
                unused(f"{e.target.name}_inv", names), q.dtype, plain(*(a.hi for a in axes)), span=e.span
            )
            names.add(t.name)
            known = Read(t, own)
            one = Const(1.0, dtype=q.dtype)
            made = Equation(t, own, axes, Div(one, q.rhs), where=_some(e, axes, requires), span=e.span)
            inverses.append((q.rhs, known, with_fresh_variables(made)))
        factors[id(q)] = known

    def rule(n: Node) -> Node | None:
        return Mul(n.lhs, factors[id(n)]) if isinstance(n, Div) and id(n) in factors else None

    return [*(made for _, _, made in inverses), rewrite(e, rule)]
