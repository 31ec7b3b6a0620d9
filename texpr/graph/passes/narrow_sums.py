"""Sums without terms that padding makes 0 for every element.

    Y[i] = sum(r in 0..3: X[i + 24 * r - 24 | 0] * w[r])  with 14 elements   ->   Y[i] = sum(r in 0..1: X[i | 0] * w[1])

Dilated convolutions whose taps are further apart than their image is long are such. As the step
`drop_padding`, this takes 0 times a weight for 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from texpr.ir.affine import linear
from texpr.ir.build import add, integer
from texpr.ir.expr import Axis, Const, Expr, Guard, Node, Read, Reduce, Var, index
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import factors, rewrite, substitute, walk
from texpr.support.frozen_dataclass import replace

Ranges = Mapping[Var, tuple[int, int]]
"""First and last value of index variables."""


def narrow_sums(program: Program) -> Program:
    """The program without terms that are 0 for all elements; a sum keeps one term at least."""
    equations = tuple(_narrowed(e) if isinstance(e, Equation) else e for e in program.equations)
    return (
        program
        if all(a is b for a, b in zip(equations, program.equations))
        else replace(program, equations=equations)
    )


def _narrowed(equation: Equation) -> Equation:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Reduce) and node.op == "sum" and node.dtype.is_float:
            return _fewer_terms(node, ranges)
        return None

    if not any(isinstance(n, Reduce) and list(_padded(n)) for n in walk(equation.value)):
        return equation
    ranges = _ranges(n for n in walk(equation) if isinstance(n, Axis))
    return rewrite(equation, rule)  # type: ignore[return-value]


def _fewer_terms(total: Reduce, ranges: Ranges) -> Reduce | None:
    """The sum over the values of its axes for which some element of each factor is inside; None where
    these are all or none.
    """
    known = _ranges(total.axes)
    left = dict(known)
    for read in _padded(total):
        for i, size in zip(read.indices, read.tensor.shape):
            for v in known:
                left[v] = _inside(i, integer(size), v, left[v], {**ranges, **left})
    if left == known or any(lo > hi for lo, hi in left.values()):
        return None
    axes = tuple(_range_of(a, left.get(a.var)) for a in total.axes)
    moved = {a.var: add(a.var, index(left[a.var][0])) for a in axes if a.var in left and left[a.var][0]}
    parts = {"body": total.body} if total.where is None else {"body": total.body, "where": total.where}
    return replace(total, axes=axes, **{k: substitute(e, moved) for k, e in parts.items()})


def _range_of(a: Axis, ends: tuple[int, int] | None) -> Axis:
    return a if ends is None else replace(a, lo=index(0), hi=index(ends[1] - ends[0] + 1))


def _inside(i: Expr, size: int | None, v: Var, ends: tuple[int, int], ranges: Ranges) -> tuple[int, int]:
    """The values of a variable for which an index may be inside."""
    form = linear(i)
    c = form.coefficient(v)
    others = [(t, k) for t, k in form.terms if t is not v]
    if size is None or not c or not all(t in ranges for t, _ in others):
        return ends
    bounds = [(k * ranges[t][0], k * ranges[t][1]) for t, k in others]  # type: ignore[index]
    least, most = form.constant + sum(map(min, bounds)), form.constant + sum(map(max, bounds))
    kept = [value for value in range(ends[0], ends[1] + 1) if -most <= c * value < size - least]
    return (kept[0], kept[-1]) if kept else (1, 0)


def _padded(total: Reduce) -> Iterable[Read]:
    """Factors of a sum's terms that are 0 outside of their tensors."""
    for factor in factors(total.body):
        match factor:
            case Read(guard=Guard("value", Const(0))):
                yield factor


def _ranges(axes: Iterable[Axis]) -> dict[Var, tuple[int, int]]:
    """Ranges of the axes whose ends are numbers, and that have values."""
    ends = ((a.var, integer(a.lo), integer(a.hi)) for a in axes)
    return {v: (lo, hi - 1) for v, lo, hi in ends if lo is not None and hi is not None and lo < hi}
