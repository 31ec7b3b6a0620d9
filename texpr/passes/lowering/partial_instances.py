"""An equation some of whose axes are given by the loops around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, compare, conjunction, floordiv, mod, mul, sub
from texpr.ir.expr import Axis, Const, Expr, Var, index
from texpr.ir.tensor import Equation
from texpr.ir.traverse import variables
from texpr.passes.analysis.iteration_ranges import nested
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Time:
    """A loop and what its variable says: the time is the variable plus `start`."""

    var: Var
    start: Expr
    extent: Expr


@frozen
class Chart:
    """The instances of an equation, as the loops around it and variables that are still free tell
    them.

    Attributes:
        around: the loops around, outermost first, with their extents.
        values: the axes that are given, and what they are.
        free: the axes that are not, or variables that stand in for them.
        conditions: what must hold for the values to be an instance, besides the ranges of the axes.
    """

    equation: Equation
    around: Mapping[Var, Expr]
    values: Mapping[Var, Expr]
    free: tuple[Var, ...]
    conditions: tuple[Expr, ...] = ()

    @staticmethod
    def of(equation: Equation) -> Chart:
        return Chart(equation, {}, {}, tuple(a.var for a in equation.axes))

    @property
    def instance(self) -> tuple[Expr, ...]:
        """The axes of the equation."""
        return tuple(self.values.get(a.var, a.var) for a in self.equation.axes)

    def given(self, form: Linear, time: Time) -> Chart:
        """Inside a loop that runs the instances for which the form has the loop's time."""
        chart = replace(self, around={**self.around, time.var: time.extent})._with_unit(form)
        at = chart._now(form)
        own = [(v, c) for v in chart.free if (c := at.coefficient(v))]
        if not own:
            return chart._also(compare("==", at.expr(), add(time.var, time.start)))
        divisor = gcd(*(c for _, c in own))
        var, c = next((v, c) for v, c in reversed(own) if abs(c) == divisor)
        rest = at.without(var)
        value = _value(rest, c, time)
        if divisor > 1:
            exact = compare("==", mod(value, index(divisor)), index(0))
            return chart._also(exact)._fixed(var, floordiv(value, index(divisor)))
        return chart._fixed(var, value)

    def _with_unit(self, form: Linear) -> Chart:
        """With free variables of which one counts as often in the form as all of them together
        can: Euclid's algorithm.
        """
        chart = self
        while True:
            at = chart._now(form)
            own = {v: c for v in chart.free if (c := at.coefficient(v))}
            if not own or min(map(abs, own.values())) == gcd(*own.values()):
                return chart
            var = min(own, key=lambda v: abs(own[v]))
            fresh = replace(var)
            value: Expr = fresh
            for v, c in own.items():
                if v is not var:
                    value = sub(value, mul(v, index(c // own[var])))
            chart = replace(
                chart._fixed(var, value), free=tuple(fresh if v is var else v for v in chart.free)
            )

    def _now(self, form: Linear) -> Linear:
        return linear(folded(form.expr(), self.values))

    def _also(self, condition: Expr) -> Chart:
        return replace(self, conditions=(*self.conditions, condition))

    def _fixed(self, var: Var, value: Expr) -> Chart:
        """With one free variable less."""
        here = {var: value}
        values = {
            v: linear(folded(e, here)).expr() if var in variables(e) else e for v, e in self.values.items()
        }
        conditions = tuple(folded(c, here) for c in self.conditions)
        if any(a.var is var for a in self.equation.axes):
            values[var] = value
        return replace(
            self, values=values, free=tuple(v for v in self.free if v is not var), conditions=conditions
        )

    def extent(self, form: Linear, facts: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The first time of an instance, and the one after the last."""
        at = self._now(form)
        own = [v for v in self.free if at.coefficient(v)]
        if not own:
            return at.expr(), _sum(at, index(1))
        axes = {a.var: a for a in self._ranges()}
        if len(own) == 1 and own[0] in axes and abs(at.coefficient(own[0])) == 1 and not self._ties(own[0]):
            axis, rest = axes[own[0]], at.without(own[0])
            if at.coefficient(own[0]) == 1:
                return _sum(rest, axis.lo), _sum(rest, axis.hi)
            return _sum(rest, sub(index(1), axis.hi)), _sum(rest, sub(index(1), axis.lo))
        found = poly.extent_of(at.expr(), [*facts, *self._inside(), *self._loops()], self.free)
        assert found is not None, "the instances of an equation are bounded"
        return found

    def _ties(self, var: Var) -> bool:
        """True if more than the range of a free axis restricts it, in terms of other free ones or
        of the loops around.
        """
        others = [c for c in (*self._given_ranges(), *self.conditions) if var in variables(c)]
        axis = next(a for a in self._ranges() if a.var is var)
        return bool(others) or not variables(axis.lo, axis.hi).isdisjoint(self.free)

    def _ranges(self) -> list[Axis]:
        """The free axes with their ranges as of now."""
        return [
            replace(a, lo=folded(a.lo, self.values), hi=folded(a.hi, self.values))
            for a in self.equation.axes
            if a.var in self.free
        ]

    def _given_ranges(self) -> list[Expr]:
        """Each given axis is in its range."""
        return [
            c
            for a in self.equation.axes
            if a.var in self.values
            for v, lo, hi in [(folded(e, self.values) for e in (a.var, a.lo, a.hi))]
            for c in _within(lo, v, hi)
        ]

    def _inside(self) -> list[Expr]:
        """All that makes an instance."""
        return [
            *self._given_ranges(),
            *self.conditions,
            *(c for a in self._ranges() for c in _within(a.lo, a.var, a.hi)),
        ]

    def _loops(self) -> list[Expr]:
        return [c for v, extent in self.around.items() for c in _within(index(0), v, extent)]

    def settled(self, facts: Sequence[Expr]) -> tuple[Equation, Expr]:
        """The equation over its free variables, and the condition on the loops around under
        which there are instances at all.
        """
        free = set(self.free)
        given = [*self._given_ranges(), *self.conditions]
        axes = self._ranges()
        if any(not free.isdisjoint(variables(c)) for c in given) or len(axes) < len(free):
            axes, given = self._bounded(facts), self._inside()
        around = [Axis(v, index(0), extent) for v, extent in self.around.items()]
        here = [*around, *nested(axes)]
        left = [
            c
            for c in given
            if not poly.always(c, here if not free.isdisjoint(variables(c)) else around, facts)
        ]
        outside = conjunction(*(c for c in left if free.isdisjoint(variables(c))))
        inside = conjunction(*(c for c in left if not free.isdisjoint(variables(c))))
        e = folded(replace(self.equation, axes=()), self.values)
        where = inside if e.where is None else conjunction(inside, e.where)
        return replace(
            e, axes=tuple(axes), where=None if isinstance(where, Const) and where.value is True else where
        ), outside

    def _bounded(self, facts: Sequence[Expr]) -> list[Axis]:
        """Ranges of the free variables, each in terms of the loops around and of those before
        it.
        """
        inside = [*facts, *self._inside(), *self._loops()]
        axes = []
        for k, v in enumerate(self.free):
            found = poly.extent_of(v, inside, self.free[k:])
            assert found is not None, "the instances of an equation are bounded"
            axes.append(Axis(v, *found))
        return axes


def _value(rest: Linear, c: int, time: Time) -> Expr:
    """The v, or a multiple of it, with c * v + rest == time."""
    if c > 0:
        return linear(sub(add(time.var, time.start), rest.expr())).expr()
    return sub(linear(sub(rest.expr(), time.start)).expr(), time.var)


def _sum(rest: Linear, e: Expr) -> Expr:
    return linear(add(e, rest.expr())).expr() if rest.terms or rest.constant else e


def _within(lo: Expr, e: Expr, hi: Expr) -> list[Expr]:
    return [compare("<=", lo, e), compare("<", e, hi)]
