"""Ranges that depend on other indices: an order in which they nest, and how long they can get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, floordiv, integer, maximum, minimum, mul, sub
from texpr.ir.expr import Axis, Expr, FloorDiv, Max, Min, Var, index
from texpr.ir.traverse import variables


def nested(axes: Sequence[Axis]) -> list[Axis]:
    """The axes, each after those that its range depends on; the given order where there is a
    choice.
    """
    left, result = list(axes), list[Axis]()
    while left:
        waiting = {a.var for a in left}
        ready = next((a for a in left if not waiting & variables(a.lo, a.hi)), None)
        assert ready is not None, f"the ranges of {', '.join(a.var.name for a in left)} depend on each other"
        result.append(ready)
        left.remove(ready)
    return result


def needed_by(axes: Sequence[Axis], used: set[Var]) -> set[Var]:
    """`used` with the axes that their ranges depend on."""
    found, todo = set(used), [a for a in axes if a.var in used]
    while todo:
        axis = todo.pop()
        new = variables(axis.lo, axis.hi) - found
        found |= new
        todo += [a for a in axes if a.var in new]
    return found


def longest(axes: Sequence[Axis]) -> dict[Var, Expr | None]:
    """For each axis a length it never exceeds, which depends on no other axis; None where the
    range is not linear in them.
    """
    low: dict[Var, Expr | None] = {}
    high: dict[Var, Expr | None] = {}
    result: dict[Var, Expr | None] = {}
    for axis in nested(axes):
        length = sub(axis.hi, axis.lo)
        result[axis.var] = (
            _nonnegative(_extreme(length, low, high)) if variables(length) & high.keys() else length
        )
        low[axis.var] = _extreme(axis.lo, high, low)
        last = _extreme(axis.hi, low, high)
        high[axis.var] = None if last is None else sub(last, index(1))
    return result


def _extreme(e: Expr, below: Mapping[Var, Expr | None], above: Mapping[Var, Expr | None]) -> Expr | None:
    """`e` with each axis at the end that makes it largest: `above` where it counts positively,
    `below` where negatively.
    """
    form = linear(e)
    result: Expr = index(form.constant)
    for term, c in form.terms:
        value: Expr | None = term
        if isinstance(term, Var):
            value = (above if c > 0 else below).get(term, term)
        elif variables(term) & above.keys():
            value = None
        if value is None:
            return None
        result = add(result, mul(value, index(c)))
    return linear(result).expr()


def largest(e: Expr, extents: Mapping[Var, Expr], sign: int = 1) -> Expr | None:
    """A value that `e` never exceeds while each of these variables counts from 0 below its extent;
    None where none is found.

    Args:
        sign: -1 for a value that `e` never falls below.
    """
    if not variables(e) & extents.keys():
        return e
    match e:
        case Max(a, b) | Min(a, b):
            x, y = largest(a, extents, sign), largest(b, extents, sign)
            if isinstance(e, Min) == (sign > 0) and (x is None or y is None):
                return x if y is None else y
            return None if x is None or y is None else (maximum if isinstance(e, Max) else minimum)(x, y)
        case FloorDiv(a, b) if (integer(b) or 0) > 0:
            x = largest(a, extents, sign)
            return None if x is None else floordiv(x, b)
    result: Expr = index(0)
    for term, c in (form := linear(e)).terms:
        value: Expr | None = (
            sub(extents[term], index(1)) if isinstance(term, Var) and term in extents else term
        )
        if value is not term:
            value = value if c * sign > 0 else index(0)
        elif variables(term) & extents.keys():
            value = (
                None
                if isinstance(term, Var) or term is e
                else largest(term, extents, sign if c > 0 else -sign)
            )
        if value is None:
            return None
        result = add(result, mul(value, index(c)))
    return linear(add(result, index(form.constant))).expr()


def _nonnegative(length: Expr | None) -> Expr | None:
    """A length of sizes that stays above zero where they are zero: N - 1 counts as N."""
    if length is None or (number := integer(length)) is not None and number >= 0:
        return length
    form = linear(length)
    return Linear(form.terms, max(form.constant, 0)).expr()
