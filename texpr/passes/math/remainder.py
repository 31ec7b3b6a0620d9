"""fmod, and `//` and `%` of floats as NumPy has them; copysign, isfinite, round.

A remainder is exact: what a multiple of b leaves of a has b's last place. Numbers far apart are divided in steps of 2^50 b, each behind a
branch that is rarely taken, so that numbers less than 2^50 apart cost one division.
"""

from __future__ import annotations

import math

from texpr.ir.build import conjunction
from texpr.ir.dtypes import F32
from texpr.ir.expr import Compare, Expr
from texpr.passes.math.arithmetic import DOUBLE, Arithmetic

STEP = 50


def _magnitude(m: Arithmetic, a: Expr, b: Expr, gap: int) -> Expr:
    """The rest of a / b for a >= 0 finite, b > 0; exponents lie at most `gap` apart."""
    rest = a
    for shift in reversed(range(STEP, gap, STEP)):
        unit = b
        for power in [512] * (shift // 512) + [shift % 512]:
            unit = m.mul(unit, 2.0**power)
        rest = m.rarely(m.compare(">=", rest, unit), _step(m, rest, unit), rest)
    return _step(m, rest, b)


def _step(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """The rest of a / b for a < 2^51 b: the quotient may be one too large, which shows. An infinite b leaves a."""
    b = m.at_most(b, float.fromhex("0x1.fffffffffffffp1023"))
    rest = m.fma(m.neg(m.call("trunc", m.div(a, b))), b, a)
    return m.select(m.compare("<", rest, 0.0), m.add(rest, b), rest)


def fmod(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a - b trunc(a / b) with the sign of a; NaN for an infinite a and for b = 0."""
    d = DOUBLE
    single = m.real == F32
    x, y = (d.call("abs", d.cast(v, d.real) if single else v) for v in (a, b))
    inside = conjunction(d.compare("<", x, math.inf), d.compare(">", y, 0.0))
    rest = _magnitude(d, d.select(inside, x, 0.0), d.select(inside, y, 1.0), 300 if single else 2150)
    rest = d.select(d.compare("==", y, math.inf), x, rest)
    return m.select(inside, m.with_sign_of(d.cast(rest, F32) if single else rest, a), math.nan)


def _other_side(m: Arithmetic, rest: Expr, b: Expr) -> Expr:
    """Whether the rest is not 0 and has not the sign of b."""
    less = m.compare("<", m.with_sign_of(m.const(1.0), rest), 0.0), m.compare("<", b, 0.0)
    return conjunction(m.compare("!=", rest, 0.0), Compare("!=", m.select(less[0], 1.0, 0.0), m.select(less[1], 1.0, 0.0)))


def modulo(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a % b: fmod, moved to the side of b."""
    rest = fmod(m, a, b)
    moved = m.select(_other_side(m, rest, b), m.add(rest, b), rest)
    return m.select(m.compare("==", rest, 0.0), m.with_sign_of(m.const(0.0), b), moved)


def floor_quotient(m: Arithmetic, a: Expr, b: Expr) -> Expr:
    """a // b: (a - rest) / b, one less on the other side, then the nearest whole number; a / b for b = 0."""
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
