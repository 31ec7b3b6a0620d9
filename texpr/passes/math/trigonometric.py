"""sin and cos: x = k pi + r with |r| <= pi/2 (cos: k - 1/2 instead of k), then one odd polynomial; an odd k flips the sign.

f32 is computed in f64 and right for every x. f64 is within its bound for |x| <= 2^44: x - k pi' is exact for the 53 bits pi' of pi, and two
more parts leave an error below 2^-110. Up to 2^51 the absolute error is below 2^-44; from there on, where neighbouring numbers are a large
part of a turn apart, the result is NaN.
"""

from __future__ import annotations

import math

from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr
from texpr.passes.math.arithmetic import DOUBLE, Arithmetic
from texpr.passes.math.coefficients import INVERSE_PI, PI_F64, SIN_F64, SIN_PI_F32, TURNS


def sin(m: Arithmetic, x: Expr) -> Expr:
    """(-1)^k sin(r)."""
    return _single(m, x, 0.0) if m.real == F32 else _double(m, x, 0.0)


def cos(m: Arithmetic, x: Expr) -> Expr:
    """(-1)^(k+1) sin(r)."""
    return _single(m, x, -0.5) if m.real == F32 else _double(m, x, -0.5)


def _half_turns(x: Expr, factor: Expr | float, phase: float) -> tuple[Expr, Expr]:
    """x * factor rounded to an integer minus `phase`, and a float with that integer's parity in its lowest bit."""
    m = DOUBLE
    if phase == 0:
        return m.nearest(x, factor, 0)
    shifted = m.add(m.fma(x, factor, phase), m.magic)
    return m.sub(m.sub(shifted, m.magic), phase), shifted


def _flip(y: Expr, shifted: Expr, phase: float) -> Expr:
    """-y for an odd integer, y for an even one (the other way round for cos, which is sin(pi/2 - r))."""
    m = DOUBLE
    sign = m.bitwise("shl", m.bits(shifted), 63)
    y = m.from_bits(m.bitwise("bit_xor", m.bits(y), sign))
    return y if phase == 0 else m.neg(y)


def _single(m: Arithmetic, x: Expr, phase: float) -> Expr:
    """sin(pi f) where f is x / pi to the nearest integer.

    A large x is a multiple of 2^s, so even multiples of 2^s / pi do not count: x / 2^s is multiplied by 2^s / pi modulo 2.
    """
    d = DOUBLE
    (_, high, low), *larger = TURNS
    factors = [m.const(1.0), d.const(high), d.const(low)]
    size = m.call("abs", x)
    for shift, high, low in larger:
        far = m.compare(">=", size, 2.0 ** (shift + 23))
        factors = [m.select(far, 2.0**-shift, factors[0]), d.select(far, high, factors[1]), d.select(far, low, factors[2])]
    small = d.cast(m.mul(x, factors[0]), d.real)
    k, shifted = _half_turns(small, factors[1], phase)
    f = d.fma(small, factors[2], d.fma(small, factors[1], d.neg(k)))
    y = d.mul(d.polynomial(d.mul(f, f), SIN_PI_F32), f)
    return d.cast(_flip(y, shifted, phase), m.real)


def _double(m: Arithmetic, x: Expr, phase: float) -> Expr:
    x = m.select(m.compare("<", m.call("abs", x), 2.0**51), x, math.nan)
    k, shifted = _half_turns(x, INVERSE_PI, phase)
    r = x
    for part in PI_F64:
        r = m.fma(k, -part, r)
    square = m.mul(r, r)
    y = m.fma(m.mul(square, r), m.polynomial(square, SIN_F64), r)
    if phase == 0:
        y = m.with_sign_of(y, r)  # of -0, which a sum loses
    return _flip(y, shifted, phase)
