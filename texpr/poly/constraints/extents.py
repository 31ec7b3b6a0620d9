"""Bounds of a value in terms of sizes and of given variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from texpr.ir.affine import Linear
from texpr.ir.build import add, floordiv, maximum, minimum, neg
from texpr.ir.expr import Expr, FloorDiv, Mod, Var, index
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import (
    ALWAYS,
    Conjunction,
    Form,
    Key,
    Unknown,
    conjoined,
    fresh,
    variable,
)
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Question, Region, Row, System, run_within_quota
from texpr.support.frozen_dataclass import replace


@one_at_a_time
def extent_of(value: Expr, conditions: Sequence[Expr], free: Collection[Var]) -> tuple[Expr, Expr] | None:
    """Bounds of an integer expression under conditions, for all values of the free variables: the
    first inclusive, the second not.

    They are maxima and minima of affine expressions. Where the conditions never hold they mean
    nothing. None if there are none, or not within the quota.
    """
    try:
        return run_within_quota(lambda: _extent(value, conditions, free))
    except OutOfQuota:
        return None


def _extent(value: Expr, conditions: Sequence[Expr], free: Collection[Var]) -> tuple[Expr, Expr] | None:
    converter = Converter(free, ())
    truth = ALWAYS
    for condition in conditions:
        truth = conjoined(truth, converter.truth(condition))
    cases = [(p + q, form) for p in truth.true for q, form in converter.values(value).cases]
    keys = _free_conditions(converter, cases)
    rows = Region(len(keys) + 1, [_system(converter, keys, piece, form) for piece, form in cases]).hull(
        len(keys)
    )
    lows = [bound for row in rows for bound in _bounds(row, keys, 1)]
    highs = [bound for row in rows for bound in _bounds(row, keys, -1)]
    return (reduce(maximum, lows), reduce(minimum, highs)) if lows and highs else None


def _free_conditions(converter: Converter, cases: Sequence[tuple[Conjunction, Form]]) -> list[Key]:
    """The conditions on variables that are not free: the bounds may use them."""
    used = (k for piece, form in cases for f in (*(c.form for c in piece), form) for k, _ in f.terms)
    return list(dict.fromkeys(k for k in used if converter.is_shared(k)))


def _system(converter: Converter, keys: Sequence[Key], piece: Conjunction, form: Form) -> System:
    """The system of a piece's facts and a column for the form's value: columns of the keys first,
    then the value, then the rest.
    """
    question = Question(converter.is_shared)
    for key in keys:
        question.column(key)
    (value,) = fresh(1)
    question.column(value)
    question.require(piece)
    question.add(question.compare(variable(value), 0, form, 0))
    return question.system()


def _bounds(row: Row, keys: Sequence[Key], sign: int) -> list[Expr]:
    """The bounds that `c * value + rest >= 0`, or `== 0`, gives: a lower one for sign 1, an
    upper one, exclusive, for -1.
    """
    terms, constant, equality = row
    c = dict(terms).get(len(keys), 0)
    if equality and c * sign < 0:
        terms, constant, c = [(k, -n) for k, n in terms], -constant, -c
    if c * sign <= 0:
        return []
    rest = Linear(tuple((_node(keys[k]), -sign * n) for k, n in terms if k < len(keys)), -sign * constant)
    if abs(c) == 1:
        return [replace(rest, constant=rest.constant + (sign < 0)).expr()]
    if sign > 0:  # value >= ceil(rest / c)
        return [neg(floordiv(neg(rest.expr()), index(c)))]
    return [add(floordiv(rest.expr(), index(-c)), index(1))]


def _node(key: Key) -> Expr:
    """The expression of a key: a quotient for an unknown that its constraints define, as `//` or
    within `%`.
    """
    if isinstance(key, Unknown):
        return FloorDiv(key.node.lhs, key.node.rhs) if isinstance(key.node, Mod) else key.node
    return key
