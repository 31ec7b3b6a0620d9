"""The smallest and the largest value of index arithmetic inside loops."""

from __future__ import annotations

from functools import lru_cache

from texpr.ir.affine import Linear, ceiling, linear
from texpr.ir.build import integer, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Expr, FloorDiv, Max, Min, Var
from texpr.ir.traverse import tensors, variables

Ranges = dict[Var, Expr]
"""Extents of the loops around, outermost first."""
_MOST_CASES = 24
"""Cases of extremes that are told apart for one bound."""


def interval(e: Expr, ranges: Ranges) -> tuple[int | None, int | None]:
    """Smallest and largest value of an affine expression in iterations of loops with these extents;
    None where unknown.

    i + 1 - N   with i in 0..max(N - 2, 0)   ->   None, -2
    """
    form = linear(e)
    high = _least(form.negated, ranges)
    return _least(form, ranges), None if high is None else -high


def sign_of(e: Expr, ranges: Ranges) -> bool | None:
    """True where an expression is seen to be at least 0, False where at most 0, None where
    neither.
    """
    form = linear(e)
    if (least := _least(form, ranges)) is not None and least >= 0:
        return True
    return False if (least := _least(form.negated, ranges)) is not None and least >= 0 else None


def at_least_zero(condition: Expr) -> list[Linear]:
    """The forms that are at least 0 where a comparison of indices without data holds, and
    nowhere else; none if it is no such.
    """
    if not isinstance(condition, Compare) or condition.lhs.dtype != I64 or tensors(condition):
        return []
    difference = linear(sub(condition.rhs, condition.lhs))
    opposite, one = difference.negated, Linear((), 1)
    match condition.op:
        case "<" | "<=":
            return [difference.plus(one, -(condition.op == "<"))]
        case ">" | ">=":
            return [opposite.plus(one, -(condition.op == ">"))]
        case "==":
            return [difference, opposite]
    return []


def _least(form: Linear, ranges: Ranges) -> int | None:
    """A value below which a form never falls: with constant extents at once, else in terms of
    symbolic ones.
    """
    least, symbolic = form.constant, False
    for term, c in form.terms:
        if not (isinstance(term, Var) and term in ranges):
            symbolic = True
        elif c < 0:
            longest = ceiling(ranges[term])
            symbolic, least = symbolic or longest is None, least + c * ((longest or 1) - 1)
    return _Cases(ranges).least(form) if symbolic and form.terms else least


class _Cases:
    """The search for a bound, in which loops are replaced by their ends and extremes by what
    they are the extremes of.
    """

    def __init__(self, ranges: Ranges) -> None:
        self.ranges, self.left = ranges, _MOST_CASES

    def least(self, form: Linear) -> int | None:
        """A value below which the form never falls; None if none is found."""
        self.left -= 1
        if not form.terms or self.left < 0:
            return form.constant if not form.terms else None
        for term, c in form.terms:
            if isinstance(term, Min if c > 0 else Max):  # either may be the extreme
                ends = [self.least(_with(form, term, c, linear(each))) for each in (term.lhs, term.rhs)]  # type: ignore[union-attr]
                return None if None in ends else min(ends)  # type: ignore[type-var]
        for term, c in form.terms:
            if isinstance(term, Max if c > 0 else Min):  # beyond both
                return self._best(form, term, c, [linear(term.lhs), linear(term.rhs)])  # type: ignore[union-attr]
        for v in reversed(self.ranges):  # the extent of a loop is in terms of those around it
            if any(v in variables(t) for t, _ in _quotients(form)):
                return self.least(_without_quotient(form))
            c = form.coefficient(v)
            if c:
                return self._best(
                    form, v, c, [_ZERO] if c > 0 else [_last(length) for length in _lengths(self.ranges[v])]
                )
        found = self._in_iterations(form)
        return self.least(_without_quotient(form)) if found is None and _quotients(form) else found

    def _in_iterations(self, form: Linear) -> int | None:
        """A bound of what holds sizes alone: no loop around has less than one iteration."""
        term, c = form.terms[0]
        for extent in self.ranges.values():
            for length in _lengths(extent):
                each = next((k for t, k in length.terms if t is term), 0)
                if each and c % each == 0 and c // each > 0:
                    return self.least(form.plus(_last(length), -(c // each)))
        return None

    def _best(self, form: Linear, term: Expr, c: int, ends: list[Linear]) -> int | None:
        found = (self.least(_with(form, term, c, end)) for end in ends)
        return max((n for n in found if n is not None), default=None)


_ZERO = Linear((), 0)


def _with(form: Linear, term: Expr, c: int, value: Linear) -> Linear:
    """With a value instead of a term."""
    return Linear(tuple((t, k) for t, k in form.terms if t is not term), form.constant).plus(value, c)


def _quotients(form: Linear) -> list[tuple[FloorDiv, int]]:
    """The quotients of which there are whole multiples of the divisor."""
    return [
        (t, c)
        for t, c in form.terms
        if isinstance(t, FloorDiv) and (d := integer(t.rhs) or 0) > 0 and c % d == 0
    ]


def _without_quotient(form: Linear) -> Linear:
    """A form that is never above, without the first of them: d * (x // d) is at most x, and at
    least x - d + 1.
    """
    quotient, c = _quotients(form)[0]
    d = integer(quotient.rhs) or 1
    return _with(form, quotient, c // d, linear(quotient.lhs).plus(Linear((), d - 1 if c > 0 else 0), -1))


def _last(length: Linear) -> Linear:
    """The last number below a length."""
    return Linear(length.terms, length.constant - 1)


@lru_cache(maxsize=1024)
def _lengths(extent: Expr) -> tuple[Linear, ...]:
    """Forms that an extent never exceeds where there is an iteration: so they are not 0 there."""
    match extent:
        case Max(a, b) if integer(b) == 0:
            return _lengths(a)
        case Max(a, b) if integer(a) == 0:
            return _lengths(b)
        case Min(a, b):
            return _lengths(a) + _lengths(b)
    return (linear(extent),)
