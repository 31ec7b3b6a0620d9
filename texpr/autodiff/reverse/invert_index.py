"""Inverting the indices of a read: which instances of an equation read the element `y`?

The equalities `e_d(v) == y_d` are solved one dimension after the other, each for one variable:

* `v + rest` gives `v := y - rest`.
* `c*v + w + rest` gives `w := c*k + n % c` and `v := n // c - k` with n = y - rest and a new binder
  k: every c-th value of w fits. Where w has only c values, k is 0. Of the equation's own variables
  only where k has few values.
* `c*v + rest` gives `v := (y - rest) // c` where `(y - rest) % c == 0`.
* `e // c` is y for `e == c*y + d` with a new binder d in 0..c; `v % c` is y for `v == c*k + y` with
  a new binder k.

What is left over are the binders of a sum. A variable so found must lie in its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from texpr.autodiff.core.interval_bounds import at_least, below, divided
from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Add, Axis, Expr, FloorDiv, Mod, Mul, Sub, Var, index
from texpr.ir.traverse import free_variables, substitute

OVERLAP = 8
"""Windows hold an element in a sum of their own where there are so many times as many of them."""
SHORT = 16
"""An axis known to have at most so many values is better summed over than solved for."""


@dataclass
class Solution:
    """Attributes:
    values: the solved variables as expressions of the target's indices and of the remaining
    axes. remaining: the axes to sum over, outermost first, their ranges free of solved
    variables. conditions: what must hold besides. ranges: solved axes whose value is not known
    to be in range, by variable.
    """

    values: dict[Var, Expr]
    remaining: tuple[Axis, ...]
    conditions: list[Expr]
    ranges: dict[Var, Axis] = field(default_factory=dict)


def solve(
    indices: Sequence[Expr], axes: Sequence[Axis], outer: int, target: Sequence[Axis], element: Sequence[Expr]
) -> Solution | None:
    """The instances of `axes` at which `indices` are `element`; None where no sum over instances
    says it.

    Args:
        outer: so many of the axes are the equation's own; solving for those leaves the short loops
            of its reductions.
        target: the axes that `element` is made of.
    """
    solver = _Solver(axes, outer, target)
    open_dimensions = list(zip(indices, element, strict=True))
    while open_dimensions:
        best = min(range(len(open_dimensions)), key=lambda n: solver.difficulty(open_dimensions[n][0]))
        e, wanted = open_dimensions.pop(best)
        if not solver.equate(e, wanted):
            return None
    return solver.solution()


class _Solver:
    def __init__(self, axes: Sequence[Axis], outer: int, target: Sequence[Axis]) -> None:
        self.axes = {axis.var: axis for axis in axes}
        self.all_axes = dict(self.axes)
        self.target = tuple(target)
        self.inner = {axis.var for axis in axes[outer:]}
        self.values: dict[Var, Expr] = {}
        self.conditions: list[Expr] = []

    @property
    def _known(self) -> tuple[Axis, ...]:
        return (*self.target, *(axis for var, axis in self.axes.items() if var not in self.values))

    def _form(self, e: Expr) -> Linear:
        return linear(divided(substitute(e, self.values), self._known))

    def _unknown(self, form: Linear) -> list[Var]:
        """The variables to solve for, best first: long, the equation's own, with a unit
        coefficient.
        """
        unknown = [t for t, _ in form.terms if isinstance(t, Var) and t in self.axes]
        return sorted(
            unknown, key=lambda v: (self._is_short(v), v in self.inner, abs(form.coefficient(v)) != 1)
        )

    def _extent(self, var: Var) -> int | None:
        return build.integer(linear(Sub(self.axes[var].hi, self.axes[var].lo)).expr())

    def _is_short(self, var: Var) -> bool:
        extent = self._extent(var)
        return extent is not None and extent <= SHORT

    def difficulty(self, e: Expr) -> int:
        """Dimensions of one variable with a unit coefficient come first, quotients and
        remainders last.
        """
        form = self._form(e)
        hidden = any(not isinstance(t, Var) and self._uses_axes(t) for t, _ in form.terms)
        return 100 * hidden + 2 * len(self._unknown(form)) + any(abs(c) != 1 for _, c in form.terms)

    def _uses_axes(self, e: Expr) -> bool:
        return any(v in self.axes for v in free_variables(e))

    def equate(self, e: Expr, wanted: Expr) -> bool:
        """Makes `e == wanted` true; False where it cannot be solved."""
        form = self._form(e)
        hidden = [(t, c) for t, c in form.terms if not isinstance(t, Var) and self._uses_axes(t)]
        if len(hidden) > 1:
            return False
        if hidden:
            return self._open(*hidden[0], form, wanted)
        return self._zero(linear(Sub(form.expr(), wanted)))

    def _open(self, term: Expr, factor: int, form: Linear, wanted: Expr) -> bool:
        """Solves form == wanted where the form contains +-1 times a quotient or a remainder of
        axes.
        """
        others = Linear(tuple((t, c) for t, c in form.terms if t is not term), form.constant)
        value = Sub(wanted, others.expr()) if factor == 1 else Sub(others.expr(), wanted)
        match term:
            case FloorDiv(n, c) if abs(factor) == 1 and (build.integer(c) or 0) > 0:
                digit = self._new_axis(Var("d"), index(0), c)
                return self._zero(linear(Sub(Add(Mul(value, c), digit), n)), keep=digit)
            case Mod(Var() as n, c) if form.terms == ((term, 1),) and (build.integer(c) or 0) > 0:
                return self._remainder(n, c, build.sub(wanted, index(form.constant)))
        return False

    def _remainder(self, var: Var, c: Expr, value: Expr) -> bool:
        """Solves var % c == value."""
        axis = self.axes[var]
        if build.integer(axis.lo) != 0:
            return False
        if not at_least(value, index(0), self.target):
            self.conditions.append(build.compare("<=", index(0), value))
        if not below(value, c, self.target):
            self.conditions.append(build.compare("<", value, c))
        rounds = self._new_axis(var, index(0), _rounds(axis.hi, c))
        self._set(var, build.add(build.mul(rounds, c), value))
        return True

    def _new_axis(self, like: Var, lo: Expr, hi: Expr) -> Var:
        """A new binder; in the place of `like` where that is an axis, else the innermost."""
        var = Var(like.name)
        axes = [*self.axes.items(), (var, Axis(var, lo, hi))]
        if like in self.axes:
            axes.insert([v for v, _ in axes].index(like), axes.pop())
        self.axes = dict(axes)
        self.all_axes[var] = self.axes[var]
        self.inner.add(var)
        return var

    def _zero(self, form: Linear, keep: Var | None = None) -> bool:
        """Makes form == 0 true by solving for another variable than `keep`; False if a quotient
        hides one.
        """
        form = self._form(form.expr())
        if any(not isinstance(t, Var) and self._uses_axes(t) for t, _ in form.terms):
            return False
        unknown = [v for v in self._unknown(form) if v is not keep]
        if not unknown:
            self.conditions.append(self._equality(form))
            return keep is None
        var = next((v for v in unknown if self._window(form, v) is not None), unknown[0])
        factor = form.coefficient(var)
        rest = form.without(var).expr()
        self._bind(var, abs(factor), linear(Sub(index(0), rest) if factor > 0 else rest))
        return True

    def _equality(self, form: Linear) -> Expr:
        """form == 0, solved for one of the target's variables where that is possible."""
        for axis in self.target:
            if abs(factor := form.coefficient(axis.var)) == 1:
                rest = form.without(axis.var).expr()
                return build.compare(
                    "==", axis.var, linear(Sub(index(0), rest)).expr() if factor > 0 else rest
                )
        return build.compare("==", form.expr(), index(0))

    def _bind(self, var: Var, factor: int, rest: Linear) -> None:
        """Solves factor * var == rest."""
        if factor == 1:
            self._set(var, rest.expr())
            return
        step = self._step(factor, rest)
        if step is None:
            self._set(var, build.floordiv(rest.expr(), index(factor)))
            self.conditions.append(build.compare("==", build.mod(rest.expr(), index(factor)), index(0)))
            return
        lo, hi = (substitute(e, self.values) for e in (self.axes[step].lo, self.axes[step].hi))
        numerator = linear(Sub(rest.without(step).expr(), lo)).expr()
        remainder = divided(build.mod(numerator, index(factor)), self._known)
        extent = build.sub(hi, lo)
        count = _rounds(
            extent if build.integer(remainder) is None else build.sub(extent, remainder), index(factor)
        )
        rounds = index(0) if build.integer(count) == 1 else self._new_axis(step, index(0), count)
        self._set(var, build.sub(build.floordiv(numerator, index(factor)), rounds))
        self._set(step, build.add(build.add(build.mul(rounds, index(factor)), remainder), lo))

    def _window(self, form: Linear, start: Var) -> Var | None:
        """The places in windows that begin every few elements, if far fewer windows hold an element than
        there are windows, or places in one.
        """
        stride, windows = form.coefficient(start), self._extent(start)
        for t, c in form.terms:
            if (
                abs(c) == 1
                and c * stride > 1
                and isinstance(t, Var)
                and t in self.axes
                and t not in self.inner
            ):
                places = self._extent(t)
                if places and windows and OVERLAP * places <= abs(stride) * min(places, windows):
                    return t
        return None

    def _step(self, factor: int, rest: Linear) -> Var | None:
        """A binder subtracted in `rest` whose range is known: of every `factor` values one fits."""
        for t, c in rest.terms:
            if (
                c == -1
                and isinstance(t, Var)
                and (t in self.inner or self._extent(t) is not None)
                and t in self.axes
                and not self._uses_axes(self.axes[t].lo)
            ):
                return t
        return None

    def _set(self, var: Var, value: Expr) -> None:
        del self.axes[var]
        known = self._known
        self.values = {v: divided(substitute(e, {var: value}), known) for v, e in self.values.items()}
        self.values[var] = divided(value, known)

    def solution(self) -> Solution | None:
        """The solution; None if the ranges of the remaining axes cannot be put in order."""
        remaining = tuple(self._resolved(axis) for axis in self.axes.values())
        if not _in_order(remaining):
            return None
        known = (*self.target, *remaining)
        conditions = [divided(substitute(c, self.values), known) for c in self.conditions]
        result = Solution(self.values, remaining, [c for c in conditions if c is not build.TRUE])
        for var, axis in self.all_axes.items():
            if var in self.values:
                axis = self._resolved(axis)
                if not (
                    at_least(self.values[var], axis.lo, known) and below(self.values[var], axis.hi, known)
                ):
                    result.ranges[var] = axis
        return result

    def _resolved(self, axis: Axis) -> Axis:
        lo, hi = (substitute(e, self.values) for e in (axis.lo, axis.hi))
        return (
            axis
            if lo is axis.lo and hi is axis.hi
            else Axis(axis.var, divided(lo, self.target), divided(hi, self.target))
        )


def _rounds(extent: Expr, c: Expr) -> Expr:
    """extent / c, rounded up."""
    return build.floordiv(linear(Add(extent, Sub(c, index(1)))).expr(), c)


def _in_order(axes: Sequence[Axis]) -> bool:
    """True if each range uses only variables of axes before it."""
    later = {axis.var for axis in axes}
    for axis in axes:
        if later & (free_variables(axis.lo) | free_variables(axis.hi)):
            return False
        later.discard(axis.var)
    return True
