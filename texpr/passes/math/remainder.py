"""fmod, and `//` and `%` of floats as NumPy has them; copysign, isfinite, round.

A remainder is exact: what a multiple of b leaves of a has b's last place. So one division is enough
for numbers whose quotient has no more bits than a fraction. Others take a branch, and are divided
in f64, in steps of 2^50 b.
"""

from __future__ import annotations

import math

from texpr.ir.build import conjunction
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Compare, Expr
from texpr.passes.math.primitives import DOUBLE, Arithmetic

EXPONENT_STEP = 50


def _distant(a: Expr, b: Expr, gap: int) -> Expr:
    """The rest of a / b in f64 for a >= 0 and b > 0 whose exponents lie at most `gap` apart."""
    m, rest = DOUBLE, a
    for shift in reversed(range(EXPONENT_STEP, gap, EXPONENT_STEP)):
        unit = b
        for power in [512] * (shift // 512) + [shift % 512]:
            unit = m.mul(unit, 2.0**power)
        rest = m.rarely(m.compare(">=", rest, unit), _step(m, rest, unit), rest)
    return _step(m, rest, b)


def _step(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """The rest of a / b for a quotient that is known to a half: it may be one too large, which
    shows. NaN for an infinite a or b, and for b = 0.
    """
    rest = m.fma(m.neg(m.call("trunc", m.div(a, b))), b, a)
    return m.select(m.compare("<", rest, 0.0), m.add(rest, b), rest)


def fmod(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a - b trunc(a / b) with the sign of a; NaN for an infinite a and for b = 0."""
    x, y = m.call("abs", a), m.call("abs", b)
    if m.real == F32:
        far = m.cast(_distant(m.cast(x, F64), m.cast(y, F64), 300), F32)
    else:
        far = _distant(x, y, 2150)
    rest = m.rarely(m.compare(">", x, m.mul(y, 2.0 ** min(EXPONENT_STEP, m.mantissa))), far, _step(m, x, y))
    return m.with_sign_of(m.select(m.compare("<", x, y), x, rest), a)


def _other_side(m: Arithmetic, rest: Expr, b: Expr) -> Expr:
    """True if the rest is not 0 and has not the sign of b."""
    less = m.compare("<", m.with_sign_of(m.const(1.0), rest), 0.0), m.compare("<", b, 0.0)
    return conjunction(
        m.compare("!=", rest, 0.0), Compare("!=", m.select(less[0], 1.0, 0.0), m.select(less[1], 1.0, 0.0))
    )


def modulo(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a % b: fmod, moved to the side of b."""
    rest = fmod(m, a, b)
    moved = m.select(_other_side(m, rest, b), m.add(rest, b), rest)
    return m.select(m.compare("==", rest, 0.0), m.with_sign_of(m.const(0.0), b), moved)


def floor_quotient(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a // b: (a - rest) / b, one less on the other side, then the nearest whole number; a / b
    for b = 0.
    """
    rest = fmod(m, a, b)
    quotient = m.div(m.sub(a, rest), b)
    quotient = m.select(_other_side(m, rest, b), m.sub(quotient, 1.0), quotient)
    floor = m.call("floor", quotient)
    floor = m.select(m.compare(">", m.sub(quotient, floor), 0.5), m.add(floor, 1.0), floor)
    plain = m.div(a, b)
    floor = m.select(m.compare("==", quotient, 0.0), m.with_sign_of(m.const(0.0), plain), floor)
    return m.select(m.compare("==", b, 0.0), plain, floor)


def copysign(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """|a| with the sign of b."""
    return m.with_sign_of(m.call("abs", a), b)


def isfinite(m: Arithmetic, x: Expr) -> Expr:
    """Neither infinite nor NaN."""
    return m.compare("<", m.call("abs", x), math.inf)


def nearest_whole(m: Arithmetic, x: Expr) -> Expr:
    """`round`: of two, the even one."""
    return m.call("rint", x)
