"""Conditions that hold, or fail, for all values of some variables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from texpr.ir.expr import Axis, Expr, Var
from texpr.poly.affine import Converter, within
from texpr.poly.forms import ALWAYS, conjoined
from texpr.poly.solver import Given, OutOfQuota, asked


def always(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """Whether `condition` is proven for all values of the axes' variables, all sizes >= 0 that satisfy `facts`, and all data."""
    return _impossible(condition, axes, facts, negated=True)


def never(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """Whether `condition` is proven to fail for all of them."""
    return _impossible(condition, axes, facts, negated=False)


def _impossible(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr], negated: bool) -> bool:
    converter = _converter(frozenset(a.var for a in axes))
    truth = converter.truth(condition)
    wanted = truth.negated if negated else truth
    given = ALWAYS
    for axis in axes:
        given = conjoined(given, within(converter, axis))
    for fact in facts:
        given = conjoined(given, converter.truth(fact))

    def none() -> bool:
        return not any(any(map(Given(converter, piece).allows, wanted.true)) for piece in given.true)

    try:
        return not wanted.true or asked(none)
    except OutOfQuota:
        return False


_CONVERTERS: OrderedDict[frozenset[Var], Converter] = OrderedDict()
_MOST_CONVERTERS = 32
_MOST_EXPRESSIONS = 5_000


def _converter(bound: frozenset[Var]) -> Converter:
    """One for all questions about the same variables: a step asks several, with the same axes and facts."""
    found = _CONVERTERS.get(bound)
    if found is None or found.expressions > _MOST_EXPRESSIONS:
        found = _CONVERTERS[bound] = Converter(bound, ())
        while len(_CONVERTERS) > _MOST_CONVERTERS:
            _CONVERTERS.popitem(last=False)
    return found
