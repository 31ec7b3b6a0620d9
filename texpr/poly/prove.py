"""Conditions that hold, or fail, for all values of some variables."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Axis, Expr
from texpr.poly.affine import Converter, within
from texpr.poly.forms import conjoined
from texpr.poly.solver import OutOfQuota, asked, possible


def always(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """Whether `condition` is proven for all values of the axes' variables, all sizes >= 0 that satisfy `facts`, and all data."""
    return _impossible(condition, axes, facts, negated=True)


def never(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """Whether `condition` is proven to fail for all of them."""
    return _impossible(condition, axes, facts, negated=False)


def _impossible(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr], negated: bool) -> bool:
    converter = Converter({a.var for a in axes}, ())
    truth = converter.truth(condition)
    wanted = truth.negated if negated else truth
    for axis in axes:
        wanted = conjoined(wanted, within(converter, axis))
    for fact in facts:
        wanted = conjoined(wanted, converter.truth(fact))

    def none() -> bool:
        return not any(possible(converter, piece) for piece in wanted.true)

    try:
        return asked(none)
    except OutOfQuota:
        return False
