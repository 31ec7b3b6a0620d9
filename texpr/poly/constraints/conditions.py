"""Conditions that hold, or fail, for all values of some variables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from texpr.ir.build import integer, negation
from texpr.ir.expr import Axis, Expr, Not, Var, index
from texpr.ir.index.uncollapse import may_count_pairs, parted_statement
from texpr.ir.loop import For, If, Poll, Stmt
from texpr.ir.shapes import value_at
from texpr.ir.traverse import statements
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import ALWAYS, conjoined
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import Assumptions, OutOfQuota, run_within_quota
from texpr.support.frozen_dataclass import frozen_by_identity


@one_at_a_time
def always(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """True if `condition` is proven for all values of the axes' variables, all sizes >= 0 that
    satisfy `facts`, and all data.
    """
    return _impossible(condition, axes, facts, negated=True)


@one_at_a_time
def never(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """True if `condition` is proven to fail for all of them."""
    return _impossible(condition, axes, facts, negated=False)


@one_at_a_time
def fails_somewhere(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr] = ()) -> bool:
    """True if a condition is seen to fail in the first iteration at some sizes: a cheap test, since
    most conditions do not always hold.
    """
    point: dict[Var, int] = {}
    for a in axes:
        lo, hi = value_at(a.lo, point, SOME_SIZE), value_at(a.hi, point, SOME_SIZE)
        if lo is None or hi is None or lo >= hi:
            return False
        point[a.var] = lo
    return value_at(condition, point, SOME_SIZE) == 0 and all(value_at(f, point, SOME_SIZE) for f in facts)


SOME_SIZE = 7
"""The value given to every size where one assignment of sizes is tried."""


def _impossible(condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr], negated: bool) -> bool:
    condition, axes, facts = _with_uncollapsed_loops(condition, axes, facts)
    known = _facts_of(axes, facts)
    truth = known.converter.truth(condition)
    wanted = truth.negated if negated else truth
    try:
        return not wanted.true or run_within_quota(
            lambda: not any(any(map(given.allows, wanted.true)) for given in known.cases)
        )
    except OutOfQuota:
        return False


def _with_uncollapsed_loops(
    condition: Expr, axes: Sequence[Axis], facts: Sequence[Expr]
) -> tuple[Expr, Sequence[Axis], Sequence[Expr]]:
    """The question about joined loops as one about the two that each of them was."""
    if not may_count_pairs([a.hi for a in axes], condition, *facts) or any(integer(a.lo) != 0 for a in axes):
        return condition, axes, facts
    nested: Stmt = If(Not(condition), (Poll(),))  # Under the opposite it is no bound of a loop.
    for fact in reversed(facts):
        nested = If(fact, (nested,))
    for a in reversed(axes):
        nested = For(a.var, a.hi, (nested,))
    whole = parted_statement(nested)
    if whole is nested:
        return condition, axes, facts
    loops = [n for n in statements(whole) if isinstance(n, For)]
    *conditions, last = (n.cond for n in statements(whole) if isinstance(n, If))
    return negation(last), [Axis(n.var, index(0), n.extent) for n in loops], conditions


@frozen_by_identity
class _Facts:
    """The facts about the values of some axes.

    Attributes:
        cases: one of them holds.
        about: the expressions that say so; while they are there, others are not taken for them.
    """

    converter: Converter
    cases: tuple[Assumptions, ...]
    about: tuple[Expr, ...]


_KNOWN: OrderedDict[tuple, _Facts] = OrderedDict()
_MOST_KNOWN = 64


def _facts_of(axes: Sequence[Axis], facts: Sequence[Expr]) -> _Facts:
    """The facts of some axes, cached: a step asks several questions with the same axes and facts."""
    ends = [e for a in axes for e in (a.lo, a.hi)]
    key = (
        *(a.var for a in axes),
        *(id(e) if (n := integer(e)) is None else (n,) for e in ends),
        None,
        *map(id, facts),
    )
    found = _KNOWN.get(key)
    if found is None:
        converter = _converter(frozenset(a.var for a in axes))
        truth = ALWAYS
        for each in (*(converter.within(a.var, a.lo, a.hi) for a in axes), *map(converter.truth, facts)):
            truth = conjoined(truth, each)
        found = _KNOWN[key] = _Facts(
            converter, tuple(Assumptions(converter, p) for p in truth.true), (*ends, *facts)
        )
        while len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return found


_CONVERTERS: OrderedDict[frozenset[Var], Converter] = OrderedDict()
_MOST_CONVERTERS = 32
_MOST_EXPRESSIONS = 5_000


def _converter(bound: frozenset[Var]) -> Converter:
    """The converter for all questions about the same variables: a step asks several, with the
    same axes and facts.
    """
    found = _CONVERTERS.get(bound)
    if found is None or found.expressions > _MOST_EXPRESSIONS:
        found = _CONVERTERS[bound] = Converter(bound, ())
        while len(_CONVERTERS) > _MOST_CONVERTERS:
            _CONVERTERS.popitem(last=False)
    return found
