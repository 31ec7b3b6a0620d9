"""Arithmetic of 64 bits on data of which nothing is known: where it cannot wrap, and what is known
of a result that may have.

Calls whose sizes are too large for them are refused (`ir.index.overflow`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import inf

from texpr.ir.build import compare, conjunction, disjunction
from texpr.ir.dtypes import I64, int_range
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Select,
    Sub,
    Var,
    index,
)
from texpr.ir.index.overflow import SMALL_FACTOR, USUAL_SIZE
from texpr.ir.traverse import children, variables, walk

_NO_WRAP_BOUND = 1 << 50
"""Data between this and its opposite does not leave 64 bits in the sums of `equal_unless_large`."""
_MOST_NODES = 16
_LEAST, _MOST = int_range(I64)


def is_bounded(e: Expr, is_unbounded: Callable[[Var], bool]) -> bool:
    """True if a plain expression has a lower and an upper bound, whatever its unbounded
    variables are: `min(max(a, 0), N)`.
    """
    return _bounded_sides(e, is_unbounded) == (True, True)


def fits_in_64_bits(e: Expr, is_data: Callable[[Var], bool]) -> bool:
    """True if a plain expression does not leave 64 bits, though its data may be any number of 64
    bits: `N - max(a, 0)`.

    Unlike `ir.index.overflow.interval_of`, it counts with the ends of the type, which is enough for
    differences of what is not below 0.
    """
    low, high = _interval(e, is_data)
    return _LEAST <= low and high <= _MOST


def _interval(e: Expr, is_data: Callable[[Var], bool]) -> tuple[float, float]:
    """Bounds of an expression in exact integers. Sizes and loops are not below 0."""

    def of(x: Expr) -> tuple[float, float]:
        return _interval(x, is_data)

    match e:
        case Const(value):
            return int(value), int(value)
        case Var():
            return (_LEAST if is_data(e) else 0), _MOST
        case Max(a, b) | Min(a, b):
            choose = max if isinstance(e, Max) else min
            return tuple(map(choose, of(a), of(b)))  # type: ignore[return-value]
        case Select(_, a, b):
            (low, high), (least, most) = of(a), of(b)
            return min(low, least), max(high, most)
        case Add(a, b):
            (low, high), (least, most) = of(a), of(b)
            return low + least, high + most
        case Sub(a, b):
            (low, high), (least, most) = of(a), of(b)
            return low - most, high - least
        case Neg(a):
            low, high = of(a)
            return -high, -low
    return -inf, inf


def _bounded_sides(e: Expr, is_unbounded: Callable[[Var], bool]) -> tuple[bool, bool]:
    """True if there is a lower bound, and an upper one."""
    match e:
        case Const() | Mod(_, Const()):
            return True, True
        case Var():
            return not is_unbounded(e), not is_unbounded(e)
        case Max(a, b):
            (below, above), (least, most) = _bounded_sides(a, is_unbounded), _bounded_sides(b, is_unbounded)
            return below or least, above and most
        case Min(a, b):
            (below, above), (least, most) = _bounded_sides(a, is_unbounded), _bounded_sides(b, is_unbounded)
            return below and least, above or most
        case Select(_, then, orelse):
            sides = then, orelse
        case Add() | Sub() | Neg() | Mul() | FloorDiv() | Call("abs"):
            sides = children(e)
        case _:
            return False, False
    both = all(is_bounded(x, is_unbounded) for x in sides if isinstance(x, Expr))
    return both, both


def equal_unless_large(
    term: Expr, var: Var, is_unbounded: Callable[[Var], bool], sizes: Iterable[Var]
) -> list[Expr]:
    """`var`, which stands for `term`, is its value in exact integers unless something wild in it
    is far from 0. Nothing for long terms.
    """
    nodes = list(walk(term))
    if (
        len(nodes) > _MOST_NODES
        or not all(isinstance(n, _EXACT) for n in nodes)
        or not isinstance(term, _ARITHMETIC)
    ):
        return []
    if any(isinstance(n, Const) and abs(n.value) > USUAL_SIZE for n in nodes) or any(
        isinstance(n, Mul) and not (isinstance(n.rhs, Const) and abs(n.rhs.value) <= SMALL_FACTOR)
        for n in nodes
    ):
        return []
    large = [
        c
        for e in _unbounded_parts(term, is_unbounded)
        for c in (compare("<", e, index(-_NO_WRAP_BOUND)), compare("<", index(_NO_WRAP_BOUND), e))
    ]
    usual = conjunction(*(compare("<", v, index(USUAL_SIZE)) for v in sizes))
    return [reduce(disjunction, large, compare("==", var, term)), usual]


def _unbounded_parts(term: Expr, is_unbounded: Callable[[Var], bool]) -> list[Expr]:
    """The terms of a sum that may be any number: `max(a, 0)`, or the unbounded variables of
    further arithmetic.
    """
    found: list[Expr] = []
    stack: list[Expr] = [term]
    while stack:
        e = stack.pop()
        if isinstance(e, _ARITHMETIC):
            stack += [c for c in children(e) if isinstance(c, Expr)]
        elif wild := [v for v in variables(e) if is_unbounded(v)]:
            found += wild if any(isinstance(n, _ARITHMETIC) for n in walk(e)) else [e]
    return found


_ARITHMETIC = (Add, Sub, Mul, Neg)
_EXACT = (Const, Var, Add, Sub, Neg, Mul, Max, Min, Select, Compare, And, Or, Not)
