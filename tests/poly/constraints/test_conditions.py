"""Conditions proven for all values."""

from __future__ import annotations

import pytest

from tests.poly.nests import at, e, less, plus, tensor, times
from texpr.ir.dtypes import BOOL, I8, I32, I64
from texpr.ir.expr import (
    And,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from texpr.ir.index.overflow import LARGEST_FACTOR
from texpr.poly import always, never

N, M, i, j, o = (Var(x) for x in "NMijo")
AXES = [Axis(i, e(0), N), Axis(j, e(0), M)]
TILED = plus(times(o, 32), j)
TILES = [Axis(o, e(0), FloorDiv(plus(N, 31), e(32))), Axis(j, e(0), e(32))]
idx = tensor("idx", N, dtype=I32, value_range=(e(0), M))
element = Cast(at(idx, i), dtype=I64)
wide = at(tensor("k", N, dtype=I64), i)
narrow = Cast(at(tensor("b", N, dtype=I32), i), dtype=I64)
mask = at(tensor("mask", N, dtype=BOOL), i)
between = Cast(at(tensor("between", N, dtype=I32, value_range=(Min(N, M), Max(N, M))), i), dtype=I64)
half = FloorDiv(wide, e(2))
square = Mul(Const(46341, dtype=I32), Const(46341, dtype=I32))


def converted(value: int) -> Expr:
    """A number as one of 8 bits, and back."""
    return Cast(Cast(Const(value, dtype=I64), dtype=I8), dtype=I64)


TRUE = {
    "a loop variable is below its extent": (less(i, N), AXES, []),
    "an extent is positive inside": (less(0, N), AXES, []),
    "sizes are not negative": (Compare(">=", N, e(0)), [], []),
    "a fact": (less(i, M), AXES, [Compare("<=", N, M)]),
    "a fact with two ways": (less(i, plus(M, 1)), AXES, [Or(less(N, M), Compare("==", N, M))]),
    "quotients": (Compare("<=", times(FloorDiv(i, e(2)), 2), i), AXES, []),
    "remainders": (And(Compare(">=", Mod(i, e(3)), e(0)), less(Mod(i, e(3)), 3)), AXES, []),
    "tiles reach no further than the last": (less(TILED, plus(N, 31)), TILES, []),
    "min and max": (And(less(Min(i, j), N), Compare(">=", Max(i, j), j)), AXES, []),
    "an index of data": (less(element, M), AXES, []),
    "a choice by data": (less(Select(mask, e(0), e(1)), e(2)), AXES, []),
    "a choice of conditions": (Select(less(i, j), less(i, plus(j, 1)), Compare(">=", i, j)), AXES, []),
    "no choice of conditions": (Not(Select(less(i, j), less(j, i), less(i, j))), AXES, []),
    "the magnitude of fewer bits": (Compare(">=", Call("abs", (narrow,)), e(0)), AXES, []),
    "a factor on the left": (less(Mul(e(2), i), plus(i, N)), AXES, []),
    "the largest number of 8 bits": (Compare("==", converted(127), e(127)), [], []),
    "the smallest number of 8 bits": (Compare("==", converted(-128), e(-128)), [], []),
    "excluded middle": (Or(less(i, j), Compare(">=", i, j)), AXES, []),
}
OPEN = {
    "not always": (less(i, M), AXES, []),
    "a tail": (less(TILED, N), TILES, []),
    "products": (less(Mul(i, M), Mul(N, M)), AXES, []),
    "data": (mask, AXES, []),
    "a choice of open conditions": (Select(less(i, j), less(i, plus(j, 1)), less(i, j)), AXES, []),
    "another choice of open conditions": (Select(less(i, j), less(j, i), Compare(">=", i, j)), AXES, []),
    "the magnitude of the least number": (Compare(">=", Call("abs", (wide,)), e(0)), AXES, []),
    "the quotient of the least number": (
        Or(Compare(">=", wide, e(0)), Compare(">", FloorDiv(wide, e(-1)), e(0))),
        AXES,
        [],
    ),
    "the successor of the largest number": (less(wide, plus(wide, 1)), AXES, []),
    "twice as much as half of the largest number, and again": (
        Or(less(half, 0), Compare(">=", times(half, 4), e(0))),
        AXES,
        [],
    ),
    "a quotient that may be of the least number": (
        Or(Compare(">=", wide, e(0)), Compare(">", FloorDiv(wide, Select(less(M, 3), e(-1), e(2))), e(0))),
        AXES,
        [less(M, 3)],
    ),
    "a product with a large number": (Compare(">=", times(i, LARGEST_FACTOR + 1), e(0)), AXES, []),
    "a negative product of sizes": (Compare(">", Mul(times(N, -1), M), e(0)), [], [less(0, N), less(0, M)]),
    "a product of 32 bits": (Compare(">=", Cast(square, dtype=I64), e(0)), [], []),
    "a quotient by a size or a number": (
        Compare(">", FloorDiv(plus(i, N), Select(less(M, 3), e(2), N)), e(0)),
        AXES,
        [less(3, M)],
    ),
    "what is no less than the smaller of two": (Compare(">=", between, N), AXES, []),
    "what is below the larger of two": (less(between, N), AXES, []),
    "a number of 9 bits": (less(converted(128), i), AXES, []),
    "data beyond its range": (less(plus(element, 1), M), AXES, []),
}


@pytest.mark.parametrize("name", TRUE)
def test_always(name: str):
    condition, axes, facts = TRUE[name]
    assert always(condition, axes, facts)
    assert never(Not(condition), axes, facts)
    assert not never(condition, axes, facts)


@pytest.mark.parametrize("name", OPEN)
def test_open(name: str):
    condition, axes, facts = OPEN[name]
    assert not always(condition, axes, facts)
    assert not never(condition, axes, facts)


def test_narrow_integers_may_wrap():
    small: Expr = at(tensor("k", N, dtype=I32, value_range=(e(0), N)), i)
    assert always(Compare(">=", Cast(small, dtype=I64), e(0)), AXES)
    assert not always(Compare(">=", Cast(Sub(small, small), dtype=I64), e(0)), AXES)
