"""Ranges that data begin and end, as the rows of a sparse matrix have.

`Y[i] = sum(k in P[i]..P[i + 1]: V[k] * X[c[k]])` reads few elements in each row. As a sum over what
read an element, `dV[k]` would ask every row whether k is in it: rows times elements. So rows are
gone through as they are, and what they read is folded into:

    dV[k] += dY[i] * X[c[k]]  for i, k in P[i]..P[i + 1]

Rows may overlap, lie in any order, and be empty.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from texpr.autodiff.core.contribution import Contribution
from texpr.autodiff.reverse.invert_index import solve
from texpr.ir.expr import Axis, Compare, Expr, Read, Reduce, Var
from texpr.ir.traverse import tensors, variables, walk
from texpr.passes.analysis.iteration_ranges import needed_by


def in_rows(contribution: Contribution, target: Sequence[Axis], element: Sequence[Expr]) -> bool:
    """True if the sum over what reads `element` would search rows for it."""
    axes = contribution.scope.axes
    found = {v for c in contribution.scope.conditions if (v := _is_found(c)) is not None}
    every = {axis.var for axis in axes}
    if reduces_rows(contribution.value) or not any(is_row(a, every, a.var in found) for a in axes):
        return False
    solution = solve(contribution.indices, axes, contribution.outer, target, element)
    if solution is None:
        return False
    searched = {axis.var for axis in solution.remaining}
    return any(is_row(axis, searched, axis.var in found) for axis in solution.ranges.values())


def is_row(axis: Axis, searched: Collection[Var], is_found: bool = False) -> bool:
    """True if both ends of a range differ between values of `searched`, and data at those say it.

    A range with one end of data (`0..n[b]`) is no row: half of what is searched lies in it.

    Args:
        is_found: one element of the range is known, as where a maximum is: one end is enough then.
    """
    chosen = set(searched)
    ends = [bool(variables(end) & chosen) for end in (axis.lo, axis.hi)]
    return (any(ends) if is_found else all(ends)) and any(
        isinstance(n, Read) and variables(n) & chosen for n in walk(axis.lo, axis.hi)
    )


def _is_found(condition: Expr) -> Var | None:
    """The variable whose value a condition reads; None if it says something else."""
    match condition:
        case Compare("==", Var() as var, Read()):
            return var
    return None


def reduces_rows(value: Expr) -> bool:
    """True if a value has a reduction whose length is data, as the product of all other factors of
    a row: the derivative of a sum of such over rows has no tensor that could hold it.
    """
    reductions = (n for n in walk(value) if isinstance(n, Reduce))
    return any(tensors(axis.lo, axis.hi) for n in reductions for axis in n.axes)


def with_rows(left: Sequence[Axis], axes: Sequence[Axis]) -> list[Axis]:
    """`left`, each after those of `axes` that its range depends on, if one of them is a row of
    others; else as it is.

    Rows within rows are gone through as well: a sum of data's length inside is no value that a
    derivative can store.
    """
    others = {axis.var for axis in axes} - {axis.var for axis in left}
    if not any(is_row(axis, others) for axis in left):
        return list(left)
    found = dict[Var, Axis]()
    for axis in (*left, *(a for a in axes if tensors(a.lo, a.hi))):
        needed = needed_by(axes, {axis.var})
        found |= {a.var: a for a in axes if a.var in needed}
    return list(found.values())
