"""atan, atan2, asin, acos, each as a constant and a polynomial of a smaller number."""

from __future__ import annotations

import math

from texpr.ir.build import conjunction
from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import ASIN_F64, ASIN_SHORT, ATAN_F64, ATAN_SHORT, HALF_PI
from texpr.passes.math.double_double import Pair, Pairs
from texpr.passes.math.primitives import Arithmetic


def _constant(k: int) -> tuple[float, float]:
    """k pi / 4 in two parts."""
    high = math.ldexp(HALF_PI[0], -1) * k
    exact = k in (0, 1, 2, 4)
    return high, math.ldexp(HALF_PI[1], -1) * k - (0.0 if exact else _lost(k))


def _lost(k: int) -> float:
    """Error of 3 pi / 4 by rounding."""
    assert k == 3
    return (math.ldexp(HALF_PI[0], -1) * 3 - HALF_PI[0]) - math.ldexp(HALF_PI[0], -1)


def _chosen(m: Arithmetic, cases: list[tuple[Expr | None, tuple[float, float]]]) -> tuple[Expr, Expr]:
    """The pair of the first condition that holds; the last has none."""
    high, low = (m.const(v) for v in cases[-1][1])
    for cond, pair in reversed(cases[:-1]):
        assert cond is not None
        high, low = m.select(cond, pair[0], high), m.select(cond, pair[1], low)
    return high, low


def _angle(p: Pairs, least: Expr, most: Expr, swapped: Expr, back: Expr | None) -> Expr:
    """atan(least / most) for 0 <= least <= most, from pi/2 where `swapped`, from pi where `back`.

    A quotient t above sqrt(2) - 1 becomes pi/4 + atan((t - 1) / (t + 1)).
    """
    m = p.m
    middle = m.compare(">", least, m.mul(most, math.sqrt(2) - 1))
    t = p.quotient(
        p.select(middle, p.sum(least, m.neg(most)), (least, None)),
        p.select(middle, p.sum(least, most), (most, None)),
    )
    square = m.mul(t[0], t[0])
    curve = m.fma(m.mul(square, t[0]), m.polynomial(square, p.choose(ATAN_F64, ATAN_SHORT)), -0.0)
    # (the sign of the angle, the quarter turns before it)
    cases: list[tuple[Expr | None, tuple[float, float]]]
    if back is None:
        down = swapped
        cases = [(middle, _constant(1)), (swapped, _constant(2)), (None, _constant(0))]
    else:
        both = conjunction(swapped, back)
        down = m.compare("!=", m.select(swapped, 1.0, 0.0), m.select(back, 1.0, 0.0))
        half = [(both, _constant(2)), (swapped, _constant(2)), (back, _constant(4)), (None, _constant(0))]
        quarters = [
            (conjunction(middle, both), _constant(3)),
            (conjunction(middle, swapped), _constant(1)),
            (conjunction(middle, back), _constant(3)),
            (middle, _constant(1)),
        ]
        cases = [*quarters, *half]
    base = _chosen(m, cases)
    rest = p.low(curve, t[1])
    assert rest is not None
    return p.value(p.sum(base[0], _turned(m, down, t[0]), m.fma(m.select(down, -1.0, 1.0), rest, base[1])))


def _turned(m: Arithmetic, down: Expr, x: Expr) -> Expr:
    return m.select(down, m.neg(x), x)


def atan(p: Pairs, x: Expr) -> Expr:
    """Of any size; infinity has pi/2."""
    m = p.m
    size = m.at_most(m.call("abs", x), 2.0**66)
    swapped = m.compare(">", size, 1.0)
    return m.with_sign_of(
        _angle(p, m.select(swapped, 1.0, size), m.select(swapped, size, 1.0), swapped, None), x
    )


def atan2(p: Pairs, y: Expr, x: Expr) -> Expr:
    """The angle of (x, y) with the signs of zeros as C has them."""
    m = p.m
    height, width = m.call("abs", y), m.call("abs", x)
    swapped = m.compare(">", height, width)
    most, least = m.select(swapped, height, width), m.select(swapped, width, height)
    endless = m.compare("==", most, math.inf)
    least = m.select(endless, m.select(m.compare("==", least, math.inf), 1.0, 0.0), least)
    most = m.select(endless, 1.0, m.select(m.compare("==", most, 0.0), 1.0, most))
    if p.exact:
        factor = m.select(
            m.compare(">", most, 2.0**500),
            2.0**-200,
            m.select(m.compare("<", most, 2.0**-500), 2.0**600, 1.0),
        )
        most, least = m.mul(most, factor), m.mul(least, factor)
    back = m.compare("<", m.with_sign_of(m.const(1.0), x), 0.0)
    y_sign = m.with_sign_of(_angle(p, least, most, swapped, back), y)
    return m.select(m.compare("!=", x, x), x, m.select(m.compare("!=", y, y), y, y_sign))


def _arc(p: Pairs, size: Expr) -> tuple[Pair, Expr]:
    """asin(s) for s = |x| up to 1/2, beyond for s = sqrt((1 - |x|) / 2), as a pair, and whether
    it is the first.
    """
    m = p.m
    small = m.compare("<", size, 0.5)
    square = m.select(small, m.mul(size, size), m.fma(size, -0.5, 0.5))
    root = p.root((square, None))
    s = m.select(small, size, root[0])
    curve = m.fma(m.mul(s, square), m.polynomial(square, p.choose(ASIN_F64, ASIN_SHORT)), -0.0)
    if root[1] is None:
        return (m.add(s, curve), None), small
    return (s, m.add(curve, m.select(small, 0.0, root[1]))), small


def asin(p: Pairs, x: Expr) -> Expr:
    """asin(s), or pi/2 - 2 asin(s)."""
    m = p.m
    s, small = _arc(p, m.call("abs", x))
    base, low = m.select(small, 0.0, HALF_PI[0]), m.select(small, 0.0, HALF_PI[1])
    factor = m.select(small, 1.0, -2.0)
    rest = low if s[1] is None else m.fma(factor, s[1], low)
    return m.with_sign_of(p.value(p.sum(base, m.fma(factor, s[0], -0.0), rest)), x)


def acos(p: Pairs, x: Expr) -> Expr:
    """pi/2 - asin(s) with the sign of x, 2 asin(s), or pi - 2 asin(s)."""
    m = p.m
    s, small = _arc(p, m.call("abs", x))
    negative = m.compare("<", x, 0.0)
    base = m.select(small, HALF_PI[0], m.select(negative, 2 * HALF_PI[0], 0.0))
    low = m.select(small, HALF_PI[1], m.select(negative, 2 * HALF_PI[1], 0.0))
    factor = m.select(small, m.select(negative, 1.0, -1.0), m.select(negative, -2.0, 2.0))
    rest = low if s[1] is None else m.fma(factor, s[1], low)
    return p.value(p.sum(base, m.fma(factor, s[0], -0.0), rest))
