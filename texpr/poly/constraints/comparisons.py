"""Comparisons of integers as constraints."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import product

from texpr.ir.build import REBUILD, add, compare, integer, mul
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, And, Compare, Const, Expr, FloorDiv, Max, Min, Or, Sub, index
from texpr.ir.index.overflow import LARGEST_FACTOR, is_wild
from texpr.poly.constraints.linear_forms import (
    CASES_LIMIT,
    Conjunction,
    Constraint,
    Form,
    Truth,
    Values,
    is_exact,
)

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def comparison_truth(op: str, lhs: Values, rhs: Values) -> Truth:
    """Conditions under which `lhs op rhs` is true, and under which it is false."""
    true: list[Conjunction] = []
    false: list[Conjunction] = []
    exact = True
    for (p, a), (q, b) in product(lhs.cases, rhs.cases):
        difference = a.plus(b, -1)
        true += [p + q + atom for atom in _atoms(op, difference)]
        false += [p + q + atom for atom in _atoms(_OPPOSITE[op], difference)]
        exact = exact and not difference.opaque and is_exact(p + q)
    return Truth(tuple(true), tuple(false), exact)


def _atoms(op: str, difference: Form) -> list[Conjunction]:
    """`difference op 0` as a disjunction."""
    if not difference.terms:
        return [()] if _COMPARE[op](difference.constant, 0) else []
    match op:
        case "<":
            return [(Constraint(difference.below(-1)),)]
        case "<=":
            return [(Constraint(difference.below(0)),)]
        case ">":
            return [(Constraint(difference.shifted(-1)),)]
        case ">=":
            return [(Constraint(difference),)]
        case "==":
            return [(Constraint(difference, equality=True),)]
    return _atoms("<", difference) + _atoms(">", difference)


def split_comparison(e: Expr) -> Expr | None:
    """An order of indices that is equivalent to a comparison, without the quotient, minimum or
    maximum; None where there is none on the outside.

    i < (n + 15) // 16       ->   16*i + 15 < n + 15
    i < min(a, b)            ->   i < a and i < b
    i < max(a, b) + 1        ->   i < a + 1 or i < b + 1

    As values they would be cases and unknowns, in all that is asked about the loops whose extents
    they are.
    """
    if not isinstance(e, Compare) or e.lhs.dtype != I64 or e.op not in _ENDS:
        return None
    for i, end, op in ((e.lhs, e.rhs, e.op), (e.rhs, e.lhs, _FLIPPED[e.op])):
        context, inner = _monotone_context(end)
        if isinstance(inner, Min | Max) and _part_count(inner) <= CASES_LIMIT:
            both = (compare(op, i, x) for x in _in_context(context, inner))
            return And(*both) if isinstance(inner, _ENDS[op]) else Or(*both)
        if (
            isinstance(end, FloorDiv)
            and 0 < (c := integer(end.rhs) or 0) <= LARGEST_FACTOR
            and not is_wild(i)
            and not is_wild(end.lhs)
        ):
            first = mul(i, index(c))
            return compare(op, first if op in ("<=", ">") else add(first, index(c - 1)), end.lhs)
    return None


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ENDS: dict[str, type[Min] | type[Max]] = {"<": Min, "<=": Min, ">": Max, ">=": Max}
"""The extreme on the right with both of whose operands the left is so compared."""


def _monotone_context(e: Expr) -> tuple[list[Expr], Expr]:
    """An expression without arithmetic around it that keeps the order of values, and that
    arithmetic, outermost first.
    """
    context: list[Expr] = []
    while (
        isinstance(e, Add | Sub | FloorDiv)
        and isinstance(e.rhs, Const)
        and not (isinstance(e, FloorDiv) and e.rhs.value <= 0)
    ):
        context.append(e)
        e = e.lhs
    return context, e


def _in_context(context: list[Expr], extreme: Min | Max) -> Iterator[Expr]:
    """The operands of an extreme with the same arithmetic around each."""
    for x in (extreme.lhs, extreme.rhs):
        for e in reversed(context):
            x = REBUILD[type(e)](x, e.rhs)  # type: ignore[attr-defined]
        yield x


def _part_count(e: Expr) -> int:
    """Number of parts that an expression is split into; more than the limit of cases are not
    counted.
    """
    stack, parts = [e], 1
    while stack and parts <= CASES_LIMIT:
        inner = _monotone_context(stack.pop())[1]
        if isinstance(inner, Min | Max):
            stack += [inner.lhs, inner.rhs]
            parts += 1
    return parts
