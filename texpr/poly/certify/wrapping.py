"""Arithmetic of 64 bits on data of which nothing is known: where it cannot wrap, and what is known of a result that may have.

Calls whose sizes are too large for them are refused (`ir.reach`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from texpr.ir.build import compare, conjunction, disjunction
from texpr.ir.expr import Add, And, Call, Compare, Const, Expr, FloorDiv, Max, Min, Mod, Mul, Neg, Not, Or, Select, Sub, Var, index
from texpr.ir.reach import SMALL_FACTOR, USUAL_SIZE
from texpr.ir.traverse import children, variables, walk

FAR = 1 << 50
"""Data between this and its opposite does not leave 64 bits in the sums of `equal_where_near`."""
_MOST_NODES = 16


def is_between(e: Expr, is_wild: Callable[[Var], bool]) -> bool:
    """True if a plain expression has a lower and an upper bound, whatever its wild variables are: `min(max(a, 0), N)`."""
    return _sides(e, is_wild) == (True, True)


def _sides(e: Expr, is_wild: Callable[[Var], bool]) -> tuple[bool, bool]:
    """Whether there is a lower bound, and an upper one."""
    match e:
        case Const() | Mod(_, Const()):
            return True, True
        case Var():
            return not is_wild(e), not is_wild(e)
        case Max(a, b):
            (below, above), (least, most) = _sides(a, is_wild), _sides(b, is_wild)
            return below or least, above and most
        case Min(a, b):
            (below, above), (least, most) = _sides(a, is_wild), _sides(b, is_wild)
            return below and least, above or most
        case Select(_, then, orelse):
            sides = then, orelse
        case Add() | Sub() | Neg() | Mul() | FloorDiv() | Call("abs"):
            sides = children(e)
        case _:
            return False, False
    both = all(is_between(x, is_wild) for x in sides if isinstance(x, Expr))
    return both, both


def equal_where_near(term: Expr, var: Var, is_wild: Callable[[Var], bool], sizes: Iterable[Var]) -> list[Expr]:
    """`var`, which stands for `term`, is its value in exact integers unless a wild variable in it is far from 0. Nothing for long terms."""
    nodes = list(walk(term))
    if len(nodes) > _MOST_NODES or not all(isinstance(n, _EXACT) for n in nodes) or not isinstance(term, Add | Sub | Mul | Neg):
        return []
    if any(isinstance(n, Const) and abs(n.value) > USUAL_SIZE for n in nodes) or any(
            isinstance(n, Mul) and not (isinstance(n.rhs, Const) and abs(n.rhs.value) <= SMALL_FACTOR) for n in nodes):
        return []
    wild = [v for v in variables(term) if is_wild(v)]
    far = [c for v in wild for c in (compare("<", v, index(-FAR)), compare("<", index(FAR), v))]
    usual = conjunction(*(compare("<", v, index(USUAL_SIZE)) for v in sizes))
    return [reduce(disjunction, far, compare("==", var, term)), usual]


_EXACT = (Const, Var, Add, Sub, Neg, Mul, Max, Min, Select, Compare, And, Or, Not)
