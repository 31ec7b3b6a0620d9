"""Small proofs about index arithmetic by interval substitution: enough to leave out conditions that always hold."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.affine import linear
from texpr.ir.expr import Axis, Expr, Mul, Read, Reduce, Select, Sub, Var, index
from texpr.ir.traverse import walk


def never_negative(e: Expr, axes: Sequence[Axis]) -> bool:
    """Whether e >= 0 follows from the ranges of `axes` (outermost first) and sizes being at least 0."""
    form = linear(e)
    for axis in reversed(axes):
        factor = form.coefficient(axis.var)
        if factor:
            extreme = axis.lo if factor > 0 else Sub(axis.hi, index(1))
            rest = form.without(axis.var).expr()
            form = linear(_plus_multiple(rest, extreme, factor))
    bound = {axis.var for axis in axes}
    return form.constant >= 0 and all(isinstance(t, Var) and t not in bound and c > 0 for t, c in form.terms)


def _plus_multiple(rest: Expr, e: Expr, factor: int) -> Expr:
    return Sub(rest, Mul(e, index(-factor)))


def within(e: Expr, lo: Expr, hi: Expr, axes: Sequence[Axis]) -> bool:
    """Whether lo <= e < hi is provable."""
    return never_negative(Sub(e, lo), axes) and never_negative(Sub(Sub(hi, e), index(1)), axes)


def always_defined(e: Expr, axes: Sequence[Axis]) -> bool:
    """Whether `e` can be computed at every instance of `axes`: no read may be outside, no maximum may be of nothing."""
    inner = (*axes, *(n for n in walk(e) if isinstance(n, Axis)))
    for node in walk(e):
        match node:
            case Read(tensor=tensor, indices=indices, guard=None):
                if not all(within(i, index(0), size, inner) for i, size in zip(indices, tensor.shape)):
                    return False
            case Reduce(op=op, where=where) if op not in ("sum", "prod", "any", "all") and where is not None:
                return False
            case Select():
                return False
    return True


def rectangle(axes: Sequence[Axis]) -> bool:
    """Whether no range depends on another of the axes or on data."""
    bound = {axis.var for axis in axes}
    return not any(isinstance(n, Read | Reduce) or n in bound for axis in axes for n in walk(axis.lo, axis.hi))
