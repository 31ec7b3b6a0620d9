"""Sums without terms that padding makes 0 for every element.

    Y[i] = sum(r in 0..3: X[i + r * 24 - 24 | 0] * w[r])  with 14 elements   ->   Y[i] = sum(r in 0..1: X[i + (r + 1) * 24 - 24 | 0] * w[r + 1])

Dilated convolutions whose taps are further apart than their image is long are such. As the step
`drop_padding` with `finite=True`, this leaves out 0 times infinity.
"""

from __future__ import annotations

from collections.abc import Iterable

from texpr.graph.passes.index_bounds import Bounds, bounds_of, extremes
from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, integer
from texpr.ir.expr import Axis, Const, Expr, Guard, Node, Read, Reduce, Var, index
from texpr.ir.tensor import Equation, Program, with_equations
from texpr.ir.traverse import factors, rewrite, substitute, walk
from texpr.support.frozen_dataclass import replace


def narrow_sums(program: Program) -> Program:
    """The program without terms that are 0 for all elements; a sum keeps one term at least."""
    equations = tuple(_narrowed(e) if isinstance(e, Equation) else e for e in program.equations)
    return with_equations(program, equations)


def _narrowed(equation: Equation) -> Equation:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Reduce) and node.op == "sum" and node.dtype.is_float:
            return _fewer_terms(node, bounds)
        return None

    if not any(isinstance(n, Reduce) and list(_padded(n)) for n in walk(equation.value)):
        return equation
    bounds = bounds_of(n for n in walk(equation) if isinstance(n, Axis))
    return rewrite(equation, rule)  # type: ignore[return-value]


def _fewer_terms(total: Reduce, bounds: Bounds) -> Reduce | None:
    """The sum over the values of its axes for which some element of each factor is inside; None where
    these are all or none.
    """
    known = bounds_of(total.axes)
    left = dict(known)
    for read in _padded(total):
        for i, size in zip(read.indices, read.tensor.shape):
            for v in known:
                left[v] = _inside(i, integer(size), v, {**bounds, **left})
    if left == known or any(lo > hi for lo, hi in left.values()):
        return None
    firsts = {v: lo for v, (lo, _) in left.items()}
    moved = {v: add(v, index(lo)) for v, lo in firsts.items() if lo}
    axes = (
        replace(a, lo=index(0), hi=index(1 + left[a.var][1] - firsts[a.var]))
        if a.var in left
        else replace(a, lo=substitute(a.lo, moved), hi=substitute(a.hi, moved))  # `s in 0..r + 1`
        for a in total.axes
    )
    where = None if total.where is None else substitute(total.where, moved)
    return replace(total, axes=tuple(axes), body=substitute(total.body, moved), where=where)


def _inside(i: Expr, size: int | None, v: Var, bounds: Bounds) -> tuple[int, int]:
    """The first and the last value of a variable for which an index may be inside; a first one behind the
    last where there is none.
    """
    first, last = bounds[v]
    form = linear(i)
    c = form.coefficient(v)
    others = extremes(Linear(tuple((t, k) for t, k in form.terms if t is not v), form.constant), bounds)
    if size is None or not c or others is None:
        return first, last
    # -largest <= c * v < size - smallest of the others
    low, high = -others[1], size - 1 - others[0]
    if c < 0:
        low, high, c = -high, -low, -c
    return max(first, -(-low // c)), min(last, high // c)


def _padded(total: Reduce) -> Iterable[Read]:
    """Factors of a sum's terms that are 0 outside of their tensors."""
    for factor in factors(total.body):
        match factor:
            case Read(guard=Guard("value", Const(0))):
                yield factor
