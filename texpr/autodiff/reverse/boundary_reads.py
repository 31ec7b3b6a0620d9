"""Reads through a boundary, seen from the element that was read.

`A[e | wrap]` reads the element y where e is y, y - n or y + n; `A[e | reflect]` where e is y, -y or 2 * (n - 1) - y; `A[e | clamp]` where e
is y, and its ends wherever e is outside on their side. So each of these is up to three reads per
dimension, of which every instance does one. Those that do not happen are left out, and an axis that
leaves the tensor for a few steps runs over those alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from texpr.autodiff.core.contribution import Contribution, Scope
from texpr.autodiff.core.interval_bounds import at_least, below, never_negative, rectangle
from texpr.autodiff.reverse.gather import at_extreme
from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Axis, Compare, Expr, Sub, Var, index
from texpr.ir.traverse import free_variables, substitute
from texpr.support.frozen_dataclass import replace

FOLDING = ("clamp", "wrap", "reflect")


class _Case(NamedTuple):
    """One case of a guarded index: it leads to `at` of a dimension of `size` elements, on the one
    `side` of it (-1, 0 within it, 1) where `index` is.
    """

    index: Expr
    at: Expr
    size: Expr
    side: int


def unfolded(contribution: Contribution) -> list[Contribution]:
    """The same as contributions to elements, none of whose indices a guard folds."""
    guard = contribution.guard
    if guard is None or guard.mode not in FOLDING:
        return [contribution]
    pairs = zip(contribution.indices, contribution.tensor.shape)
    cases = [_cases(e, size, guard.mode, contribution.scope.axes) for e, size in pairs]
    return [_only(contribution, choice, guard.mode) for choice in product(*cases)]


def _cases(e: Expr, size: Expr, mode: str, axes: Sequence[Axis]) -> list[_Case]:
    found = [_Case(e, e, size, 0)]
    last = build.sub(size, index(1))
    low = {"clamp": index(0), "wrap": build.add(e, size), "reflect": build.sub(index(0), e)}
    high = {"clamp": last, "wrap": build.sub(e, size), "reflect": build.sub(build.add(last, last), e)}
    if not at_least(e, index(0), axes):
        found.append(_Case(e, low[mode], size, -1))
    if not below(e, size, axes):
        found.append(_Case(e, high[mode], size, 1))
    return found


def _only(contribution: Contribution, cases: Sequence[_Case], mode: str) -> Contribution:
    """The instances of one case per dimension. Those within the tensor need no condition: they
    read what an index can be.
    """
    result = replace(contribution, indices=tuple(case.at for case in cases), guard=None)
    open_cases = [case for case in cases if case.side]
    while open_cases:
        case = open_cases.pop()
        result, fixed, left = _outside(result, case, mode == "wrap")
        open_cases = [
            c._replace(index=linear(substitute(c.index, fixed)).expr()) for c in (*open_cases, *left)
        ]
    return result


def _outside(
    contribution: Contribution, case: _Case, told: bool
) -> tuple[Contribution, Mapping[Var, Expr], tuple[_Case, ...]]:
    """Only where an index is on one side of its dimension: an axis has a shorter range, and a
    condition says what that does not.

    Also the axes that have one value there, which is put in their place, and the case again where
    other axes may make it happen as well.

    Args:
        told: whether `case.at` is an element of the tensor there alone.
    """
    scope = contribution.scope
    beyond = linear(case.index if case.side < 0 else Sub(case.index, case.size))
    outside = (
        build.compare("<", case.index, index(0))
        if case.side < 0
        else build.compare("<=", case.size, case.index)
    )
    axis = _leaving(beyond, scope)
    if axis is None:
        return contribution if told else replace(contribution, scope=scope.when(outside)), {}, ()
    extreme = beyond
    for other in reversed(scope.axes[scope.axes.index(axis) + 1 :]):
        extreme = linear(at_extreme(extreme.expr(), other, case.side))
    shorter, gap = _shortened(axis, extreme, case.side)
    inside = () if _holds(gap, scope.axes, case.size) else (_still_in(axis, shorter),)
    axes = tuple(shorter if a is axis else a for a in scope.axes)
    result = replace(contribution, scope=Scope(axes, (*inside, *scope.conditions)))
    settled = told or extreme is beyond
    if _is_one(shorter):
        value = {axis.var: linear(shorter.lo).expr()}
        return _fixed(result, shorter, value), value, () if settled else (case,)
    return result if settled else replace(result, scope=result.scope.when(outside)), {}, ()


def _leaving(form: Linear, scope: Scope) -> Axis | None:
    """The first axis that an index moves with, step by step; None where it moves with quotients,
    data, packs or ranges of data.

    Nor with places of maxima: `k == place` stands for the whole range of k.
    """
    axes = scope.axes
    moving = [(t, c) for t, c in form.terms if any(a.var in free_variables(t) for a in axes)]
    used = [a for a in axes if any(a.var is t for t, _ in moving)]
    if len(used) < len(moving) or not used or abs(form.coefficient(used[0].var)) != 1:
        return None
    found = {c.lhs for c in scope.conditions if isinstance(c, Compare) and c.op == "=="}
    return used[0] if rectangle(used, axes) and not any(a.var.pack or a.var in found for a in used) else None


def _shortened(axis: Axis, beyond: Linear, side: int) -> tuple[Axis, Expr]:
    """The axis where `beyond` < 0 (side -1) or >= 0 (side 1), and by how much it is within what
    it was: less than 0 is beyond it.
    """
    rest, factor = beyond.without(axis.var), beyond.coefficient(axis.var)
    bound = (rest.negated if factor > 0 else rest.plus(Linear((), 1))).expr()
    if factor * side < 0:
        return replace(axis, hi=bound), Sub(axis.hi, bound)
    return replace(axis, lo=bound), Sub(bound, axis.lo)


def _holds(gap: Expr, axes: Sequence[Axis], size: Expr) -> bool:
    """True if gap >= 0 follows, also from `size` >= 1: there is an element."""
    return never_negative(gap, axes) or never_negative(Sub(gap, Sub(size, index(1))), axes)


def _still_in(axis: Axis, shorter: Axis) -> Expr:
    return (
        build.compare("<", axis.var, axis.hi)
        if shorter.lo is axis.lo
        else build.compare("<=", axis.lo, axis.var)
    )


def _is_one(axis: Axis) -> bool:
    return build.integer(linear(Sub(axis.hi, axis.lo)).expr()) == 1


def _fixed(contribution: Contribution, axis: Axis, value: Mapping[Var, Expr]) -> Contribution:
    """Without an axis that has one value."""
    scope = contribution.scope
    rest = tuple(
        Axis(a.var, substitute(a.lo, value), substitute(a.hi, value)) for a in scope.axes if a is not axis
    )
    return replace(
        contribution,
        indices=tuple(linear(substitute(i, value)).expr() for i in contribution.indices),
        scope=Scope(rest, tuple(substitute(c, value) for c in scope.conditions)),
        value=substitute(contribution.value, value),
        outer=contribution.outer - (axis in scope.axes[: contribution.outer]),
    )
