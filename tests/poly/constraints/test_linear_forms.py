"""Linear forms that others stand in, and conditions of more cases than are kept."""

from __future__ import annotations

from functools import reduce

from tests.poly.nests import e, less
from texpr.ir.expr import And, Compare, Expr, Or, Var
from texpr.poly import always
from texpr.poly.constraints.linear_forms import (
    CASES_LIMIT,
    Constraint,
    Form,
    Truth,
    conjoined,
    is_contradiction,
    variable,
)

N, i, j = (Var(x) for x in "Nij")
POINTS = range(0, 12, 2)
"""As many cases twice are too many together."""


def test_terms_that_cancel_are_gone():
    """Else the form of a number would count as one with terms."""
    difference = Form(((i, 2), (j, -2)), 3)
    assert difference.over({i: variable(j)}) == Form((), 3)
    assert difference.over({i: Form(((j, 1), (N, 1)), 1)}) == Form(((N, 2),), 5)
    assert difference.over({N: variable(j)}) is difference


def at_points() -> Truth:
    """N is one of the points."""
    n = variable(N)
    return Truth(tuple((Constraint(n.shifted(-k)), Constraint(n.below(k))) for k in POINTS), ())


def test_of_too_many_cases_those_stay_that_can_be():
    both = conjoined(at_points(), at_points())
    assert len(POINTS) ** 2 > CASES_LIMIT
    assert both.exact and len(both.true) == len(POINTS)
    assert not any(is_contradiction(piece) for piece in both.true)


def test_a_condition_of_many_cases_holds_somewhere():
    """What never holds would prove anything."""

    def one_of() -> Expr:
        return reduce(Or, [And(Compare(">=", N, e(k)), Compare("<=", N, e(k))) for k in POINTS])

    both = And(one_of(), one_of())
    assert always(less(N, POINTS[-1] + 1), [], [both])
    assert not always(less(N, POINTS[-1]), [], [both])
