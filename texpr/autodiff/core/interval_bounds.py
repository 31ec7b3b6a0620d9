"""Small proofs about index arithmetic by interval substitution: enough to leave out conditions
that always hold.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import (
    Add,
    Axis,
    Cast,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.traverse import rewrite, variables, walk
from texpr.support.frozen_dataclass import replace


def never_negative(e: Expr, axes: Sequence[Axis]) -> bool:
    """True if e >= 0 follows from the ranges of `axes` (outermost first) and sizes being at least
    0.
    """
    form = _least(linear(e))
    for axis in reversed(axes):
        factor = form.coefficient(axis.var)
        if factor:
            extreme = axis.lo if factor > 0 else Sub(axis.hi, index(1))
            form = _least(linear(Add(form.without(axis.var).expr(), Mul(extreme, index(factor)))))
    bound = {axis.var for axis in axes}
    return form.constant >= 0 and all(isinstance(t, Var) and t not in bound and c > 0 for t, c in form.terms)


def surely_natural(e: Expr) -> bool:
    """True if e >= 0 follows from sizes being at least 0, whichever operand an extreme is."""
    form = linear(e)
    extreme = next(((t, c) for t, c in form.terms if isinstance(t, Max | Min)), None)
    if extreme is None:
        return never_negative(e, ())
    term, factor = extreme
    rest = Linear(tuple((t, c) for t, c in form.terms if t is not term), form.constant).expr()
    either = any if isinstance(term, Max) == (factor > 0) else all
    return either(surely_natural(Add(rest, Mul(o, index(factor)))) for o in (term.lhs, term.rhs))  # type: ignore[union-attr]


def _least(form: Linear) -> Linear:
    """At least as small: remainders and multiples of quotients by a literal, and elements of a
    declared range, at their extremes.
    """
    for term, factor in form.terms:
        extreme = _extreme(term, factor)
        if extreme is not None:
            rest = Linear(tuple((t, c) for t, c in form.terms if t is not term), form.constant)
            return _least(linear(Add(rest.expr(), extreme)))
    return form


def _extreme(term: Expr, factor: int) -> Expr | None:
    """The smallest value of factor * term, where known."""
    match term:
        case FloorDiv(n, Const(c)) if c > 0 and factor % c == 0:
            return Mul(n if factor < 0 else Sub(n, index(int(c) - 1)), index(factor // int(c)))
    extremes = _extremes(term)
    return None if extremes is None else Mul(extremes[0] if factor > 0 else extremes[1], index(factor))


def _extremes(term: Expr) -> tuple[Expr, Expr] | None:
    """The smallest and largest value of an opaque integer term, where known."""
    match term:
        case Mod(_, Const(c)) if c > 0:
            return index(0), index(int(c) - 1)
        case Read(tensor=Tensor(value_range=(lo, hi))) | Cast(Read(tensor=Tensor(value_range=(lo, hi)))):
            return lo, Sub(hi, index(1))
    return None


def without_data(e: Expr, axes: Collection[Var], sign: int) -> Expr | None:
    """Upper bound of `e` (sign 1), or lower bound (sign -1), without data that the variables
    choose: itself where it has none; None where nothing is declared of such data.

    first[i + 1] - k   with `first in 0..N`   ->   N - 1 - k
    """
    found = e
    for term, factor in linear(e).terms:
        if isinstance(term, Var) or variables(term).isdisjoint(axes):
            continue
        extreme = _end(term, axes, sign if factor > 0 else -sign)
        if extreme is None:
            return None
        found = linear(Add(Sub(found, Mul(term, index(factor))), Mul(extreme, index(factor)))).expr()
    return found


def _end(term: Expr, axes: Collection[Var], sign: int) -> Expr | None:
    """The largest value of a term that is no variable (sign 1), or the smallest."""
    if isinstance(term, Min | Max):
        ends = [without_data(o, axes, sign) for o in (term.lhs, term.rhs)]
        known = [end for end in ends if end is not None]
        either = isinstance(term, Min) == (
            sign > 0
        )  # A minimum exceeds neither operand: one of them is enough.
        if len(known) == 2:
            return replace(term, lhs=known[0], rhs=known[1])
        return known[0] if either and known else None
    extremes = _extremes(term)
    end = None if extremes is None else extremes[sign > 0]
    return end if end is not None and variables(end).isdisjoint(axes) else None


def at_least(e: Expr, lo: Expr, axes: Sequence[Axis]) -> bool:
    """True if lo <= e is provable; n // c >= lo where n >= c * lo."""
    match e:
        case FloorDiv(n, c):
            return never_negative(Sub(n, build.mul(c, lo)), axes)
    return never_negative(Sub(e, lo), axes)


def below(e: Expr, hi: Expr, axes: Sequence[Axis]) -> bool:
    """True if e < hi is provable; n // c < hi where n < c * hi."""
    match e:
        case FloorDiv(n, c):
            return never_negative(Sub(Sub(build.mul(c, hi), n), index(1)), axes)
    return never_negative(Sub(Sub(hi, e), index(1)), axes)


def divided(e: Expr, axes: Sequence[Axis]) -> Expr:
    """`e` with multiples of a literal divisor taken out of // and %: (c*a + b) // c is a and
    (c*a + b) % c is b for b in 0..c.
    """

    def rule(node: Node) -> Node | None:
        if isinstance(node, FloorDiv | Mod) and (c := build.integer(node.rhs)) is not None and c > 0:
            return _divided(node, linear(node.lhs), c, axes)
        return build.fold(node)

    return rewrite(e, rule)  # type: ignore[return-value]


def _divided(node: FloorDiv | Mod, form: Linear, c: int, axes: Sequence[Axis]) -> Expr | None:
    quotient = Linear(tuple((t, f // c) for t, f in form.terms if f % c == 0), form.constant // c)
    rest = Linear(tuple((t, f) for t, f in form.terms if f % c), form.constant % c)
    remainder = rest.expr()
    if at_least(remainder, index(0), axes) and below(remainder, index(c), axes):
        return quotient.expr() if isinstance(node, FloorDiv) else remainder
    if not quotient.terms and form.constant == rest.constant:
        return None
    if isinstance(node, Mod):
        return build.mod(remainder, index(c))
    return linear(Add(quotient.expr(), FloorDiv(remainder, index(c)))).expr()


def always_defined(e: Expr, axes: Sequence[Axis]) -> bool:
    """True if `e` can be computed at every instance of `axes`: no read may be outside, no maximum
    may be of nothing.
    """
    inner = (*axes, *(n for n in walk(e) if isinstance(n, Axis)))
    for node in walk(e):
        match node:
            case Read(tensor=tensor, indices=indices, guard=None):
                if not all(
                    at_least(i, index(0), inner) and below(i, size, inner)
                    for i, size in zip(indices, tensor.shape)
                ):
                    return False
            case Reduce(op=op, axes=binders, where=where) if op not in ("sum", "prod", "any", "all"):
                if where is not None or not all(_has_some(axis, inner) for axis in binders):
                    return False
            case Select():
                return False
    return True


def _has_some(axis: Axis, axes: Sequence[Axis]) -> bool:
    """True if a range is not empty; that of a size may be, for no instance more than for another."""
    extent = build.sub(axis.hi, axis.lo)
    return (
        isinstance(extent, Var) and all(extent is not a.var for a in axes) or at_least(extent, index(1), axes)
    )


def rectangle(axes: Sequence[Axis], around: Sequence[Axis]) -> bool:
    """True if no range of `axes` depends on data or on one of `around`, which they are among."""
    bound = {axis.var for axis in around}
    return not any(
        isinstance(n, Read | Reduce) or n in bound for axis in axes for n in walk(axis.lo, axis.hi)
    )
