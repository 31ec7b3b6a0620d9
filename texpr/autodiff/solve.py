"""Inverting the indices of a read: which instances of an equation read the element `y`?

The equalities `e_d(v) == y_d` are solved one dimension after the other, each for one variable: `v + rest` gives `v := y_d - rest`,
`c*v + rest` gives `v := (y_d - rest) // c` where `(y_d - rest) % c == 0`, and `c*v + w + rest` with `w in 0..c` gives the quotient and
the remainder. What is left over are the binders of a sum. A variable so found must lie in its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from texpr.autodiff.bounds import never_negative
from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Axis, Expr, FloorDiv, Mod, Sub, Var, index
from texpr.ir.traverse import free_variables, rewrite, substitute


@dataclass
class Solution:
    """Attributes:
        values: the solved variables as expressions of the target's indices and of the remaining axes.
        remaining: the axes to sum over, outermost first, their ranges free of solved variables.
        conditions: equalities that must hold besides.
        ranges: solved axes whose value is not known to be in range, by variable.
    """

    values: dict[Var, Expr]
    remaining: tuple[Axis, ...]
    conditions: list[Expr]
    ranges: dict[Var, Axis] = field(default_factory=dict)


def solve(indices: Sequence[Expr], axes: Sequence[Axis], outer: int, target: Sequence[Axis]) -> Solution | None:
    """The instances of `axes` at which `indices` are the variables of `target`; None where no sum over instances says it.

    Args:
        outer: so many of the axes are the equation's own; solving for those leaves the short loops of its reductions.
    """
    solver = _Solver(axes, outer)
    open_dimensions = list(zip(indices, target, strict=True))
    while open_dimensions:
        best = min(range(len(open_dimensions)), key=lambda n: solver.difficulty(open_dimensions[n][0]))
        e, wanted = open_dimensions.pop(best)
        if not solver.equate(e, wanted.var):
            return None
    return solver.solution(target)


class _Solver:
    def __init__(self, axes: Sequence[Axis], outer: int) -> None:
        self.axes = {axis.var: axis for axis in axes}
        self.rank = {axis.var: n >= outer for n, axis in enumerate(axes)}
        self.values: dict[Var, Expr] = {}
        self.conditions: list[Expr] = []

    def _form(self, e: Expr) -> Linear:
        return linear(substitute(e, self.values))

    def _unknown(self, form: Linear) -> list[Var]:
        """The variables to solve for, best first: the equation's own, long, with a unit coefficient."""
        unknown = [t for t, _ in form.terms if isinstance(t, Var) and t in self.axes and t not in self.values]
        return sorted(unknown, key=lambda v: (self._short(v), self.rank[v], abs(form.coefficient(v)) != 1))

    def _short(self, var: Var) -> bool:
        extent = self._extent(var)
        return extent is not None and extent <= _SHORT

    def _extent(self, var: Var) -> int | None:
        return build.integer(linear(Sub(self.axes[var].hi, self.axes[var].lo)).expr())

    def difficulty(self, e: Expr) -> int:
        """Dimensions of one variable with a unit coefficient come first."""
        form = self._form(e)
        return 2 * len(self._unknown(form)) + any(abs(c) != 1 for _, c in form.terms)

    def equate(self, e: Expr, wanted: Var) -> bool:
        """Makes `e == wanted` true; False where it cannot be solved."""
        form = self._form(e)
        hidden = [t for t, _ in form.terms if not isinstance(t, Var)]
        if any(v in self.axes for term in hidden for v in free_variables(term)):
            return False
        unknown = self._unknown(form)
        if not unknown:
            self.conditions.append(build.compare("==", wanted, form.expr()))
            return True
        var = unknown[0]
        factor = form.coefficient(var)
        rest = linear(Sub(wanted, form.without(var).expr()) if factor > 0 else Sub(form.without(var).expr(), wanted))
        self._bind(var, abs(factor), rest, wanted)
        return True

    def _bind(self, var: Var, factor: int, rest: Linear, wanted: Var) -> None:
        """Solves factor * var == rest."""
        if factor == 1:
            self._set(var, rest.expr())
            return
        digit = self._digit(factor, rest)
        if digit is None:
            self._set(var, build.floordiv(rest.expr(), index(factor)))
            self.conditions.append(build.compare("==", build.mod(rest.expr(), index(factor)), index(0)))
            return
        numerator = linear(Sub(rest.without(digit).expr(), substitute(self.axes[digit].lo, self.values))).expr()
        self._set(var, build.floordiv(numerator, index(factor)))
        self._set(digit, build.add(build.mod(numerator, index(factor)), substitute(self.axes[digit].lo, self.values)))

    def _digit(self, factor: int, rest: Linear) -> Var | None:
        """A variable subtracted in `rest` whose range has `factor` values: it is the remainder."""
        for t, c in rest.terms:
            if c == -1 and isinstance(t, Var) and t in self.axes and t not in self.values and self._extent(t) == factor:
                return t
        return None

    def _set(self, var: Var, value: Expr) -> None:
        self.values = {v: _normal(substitute(e, {var: value})) for v, e in self.values.items()}
        self.values[var] = value

    def solution(self, target: Sequence[Axis]) -> Solution | None:
        """What was found; None if the ranges of the remaining axes cannot be put in order."""
        remaining = tuple(self._resolved(axis) for var, axis in self.axes.items() if var not in self.values)
        if not _in_order(remaining):
            return None
        conditions = [_normal(substitute(c, self.values)) for c in self.conditions]
        result = Solution(self.values, remaining, [c for c in conditions if c is not build.TRUE])
        known = (*target, *remaining)
        for var, value in self.values.items():
            axis = self._resolved(self.axes[var])
            if not (at_least(value, axis.lo, known) and below(value, axis.hi, known)):
                result.ranges[var] = axis
        return result

    def _resolved(self, axis: Axis) -> Axis:
        lo, hi = (substitute(e, self.values) for e in (axis.lo, axis.hi))
        return axis if lo is axis.lo and hi is axis.hi else Axis(axis.var, _normal(lo), _normal(hi))


_SHORT = 16  # an axis known to have at most so many values is better summed over than solved for


def _in_order(axes: Sequence[Axis]) -> bool:
    """Whether each range uses only variables of axes before it."""
    later = {axis.var for axis in axes}
    for axis in axes:
        if later & (free_variables(axis.lo) | free_variables(axis.hi)):
            return False
        later.discard(axis.var)
    return True


def at_least(e: Expr, lo: Expr, axes: Sequence[Axis]) -> bool:
    """Whether lo <= e is provable; n // c >= lo where n >= c * lo."""
    match e:
        case FloorDiv(n, c):
            return never_negative(Sub(n, build.mul(c, lo)), axes)
        case Mod():
            return never_negative(Sub(index(0), lo), axes)
    return never_negative(Sub(e, lo), axes)


def below(e: Expr, hi: Expr, axes: Sequence[Axis]) -> bool:
    """Whether e < hi is provable; n // c < hi where n < c * hi."""
    match e:
        case FloorDiv(n, c):
            return never_negative(Sub(Sub(build.mul(c, hi), n), index(1)), axes)
        case Mod(_, c) if build.integer(hi) is not None and build.integer(c) is not None:
            return build.integer(hi) >= build.integer(c)  # type: ignore[operator]
    return never_negative(Sub(Sub(hi, e), index(1)), axes)


def _normal(e: Expr) -> Expr:
    return rewrite(e, build.fold)  # type: ignore[return-value]
