"""Combination of the cases of operands to those of a result: conditions, sums, extremes,
choices.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from texpr.ir.expr import And, Compare, Const, Expr, Not, Or, Read, Select
from texpr.poly.constraints.comparisons import comparison_truth
from texpr.poly.constraints.linear_forms import (
    ALWAYS,
    Conjunction,
    Constraint,
    Form,
    Truth,
    Values,
    conjoined,
)


def condition(e: Expr, of: list) -> Truth | None:
    """The truth of a node from the cases of its operands; None for another node."""
    match e:
        case Const(value):
            return ALWAYS if value else ALWAYS.negated
        case And():
            return conjoined(of[0], of[1])
        case Or():
            return conjoined(of[0].negated, of[1].negated).negated
        case Not():
            return of[0].negated
        case Select():
            chosen = conjoined(of[0], of[1]), conjoined(of[0].negated, of[2])
            against = conjoined(of[0], of[1].negated), conjoined(of[0].negated, of[2].negated)
            return Truth(
                chosen[0].true + chosen[1].true,
                against[0].true + against[1].true,
                all(t.exact for t in chosen),
            )
        case Compare() if len(of) == 1:  # taken apart
            return of[0]
        case Read() if of:
            return of[0]
        case Compare("==" | "!=" as op) if of and isinstance(of[0], Truth):
            return _equivalence(*of) if op == "==" else _equivalence(*of).negated
        case Compare(op) if of and isinstance(of[0], Values):
            return comparison_truth(op, *of)
    return None


def _equivalence(a: Truth, b: Truth) -> Truth:
    """The truth of "both conditions hold, or neither holds"."""
    both, neither = conjoined(a, b), conjoined(a.negated, b.negated)
    one, other = conjoined(a, b.negated), conjoined(a.negated, b)
    return Truth(
        both.true + neither.true, one.true + other.true, all(t.exact for t in (both, neither, one, other))
    )


def count_cases(found: Values | Truth) -> int:
    """The number of cases."""
    return len(found.cases) if isinstance(found, Values) else max(len(found.true), len(found.false))


def pairwise(of: list[Values], combine) -> Values:
    """One case for each pair of cases."""
    return Values(tuple((p + q, combine(a, b)) for (p, a), (q, b) in product(of[0].cases, of[1].cases)))


def extreme(of: list[Values], sign: int) -> Iterator[tuple[Conjunction, Form]]:
    """The larger of two values for sign 1, the smaller for -1."""
    for (p, a), (q, b) in product(of[0].cases, of[1].cases):
        difference = a.plus(b, -1).times(sign)
        if not difference.terms:
            yield p + q, a if difference.constant >= 0 else b
            continue
        yield (*p, *q, Constraint(difference)), a
        yield (*p, *q, Constraint(difference.times(-1).shifted(-1))), b


def absolute(value: Values) -> Iterator[tuple[Conjunction, Form]]:
    """The cases of an absolute value."""
    for p, a in value.cases:
        yield (*p, Constraint(a)), a
        yield (*p, Constraint(a.times(-1).shifted(-1))), a.times(-1)


def selected(of: list) -> Iterator[tuple[Conjunction, Form]]:
    """The cases of a choice."""
    for pieces, value in ((of[0].true, of[1]), (of[0].false, of[2])):
        for piece, (p, form) in product(pieces, value.cases):
            yield piece + p, form
