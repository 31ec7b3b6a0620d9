"""sin and cos: x = k pi + r with |r| <= pi/2 (cos: k - 1/2 instead of k), then one odd polynomial;
an odd k flips the sign.

f32 is computed in f64. f64 from 2^44 on, where k pi is no longer known well enough from three parts
of pi, takes a branch that is rarely run: `argument_reduction.reduce_large_angle`. tan is the quotient of
both.
"""

from __future__ import annotations

from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr
from texpr.passes.math.argument_reduction import (
    LARGE_ANGLE,
    reduce_large_angle,
    reduce_small_angle,
    sine_and_cosine,
)
from texpr.passes.math.coefficients import INVERSE_PI, PI_F64, SIN_F64, SIN_PI_F32, TURNS
from texpr.passes.math.double_double import Pair, Pairs
from texpr.passes.math.primitives import DOUBLE, Arithmetic


def sin(m: Arithmetic, x: Expr) -> Expr:
    """(-1)^k sin(r)."""
    return _single(m, x, 0.0) if m.real == F32 else _double(m, x, 0.0)


def cos(m: Arithmetic, x: Expr) -> Expr:
    """(-1)^(k+1) sin(r)."""
    return _single(m, x, -0.5) if m.real == F32 else _double(m, x, -0.5)


def _half_turns(x: Expr, factor: Expr | float, phase: float) -> tuple[Expr, Expr]:
    """x * factor rounded to an integer minus `phase`, and a float with that integer's parity in
    its lowest bit.
    """
    m = DOUBLE
    if phase == 0:
        return m.nearest(x, factor, 0)
    shifted = m.add(m.fma(x, factor, phase), m.magic)
    return m.sub(m.sub(shifted, m.magic), phase), shifted


def _flip(y: Expr, shifted: Expr, phase: float) -> Expr:
    """-y for an odd integer, y for an even one (the other way round for cos, which is sin(pi/2 -
    r)).
    """
    m = DOUBLE
    sign = m.bitwise("shl", m.bits(shifted), 63)
    y = m.from_bits(m.bitwise("bit_xor", m.bits(y), sign))
    return y if phase == 0 else m.neg(y)


def _single(m: Arithmetic, x: Expr, phase: float) -> Expr:
    """sin(pi f) where f is x / pi to the nearest integer.

    A large x is a multiple of 2^s, so even multiples of 2^s / pi do not count: x / 2^s is
    multiplied by 2^s / pi modulo 2.
    """
    d = DOUBLE
    small, high, low = _single_turns(m, x)
    k, shifted = _half_turns(small, high, phase)
    f = d.fma(small, low, d.fma(small, high, d.neg(k)))
    y = d.mul(d.polynomial(d.mul(f, f), SIN_PI_F32), f)
    return d.cast(_flip(y, shifted, phase), m.real)


def _single_turns(m: Arithmetic, x: Expr) -> tuple[Expr, Expr, Expr]:
    """x / 2^s in f64, and 2^s / pi modulo 2 in two parts."""
    d = DOUBLE
    (_, high, low), *larger = TURNS
    factors = [m.const(1.0), d.const(high), d.const(low)]
    size = m.call("abs", x)
    for shift, high, low in larger:
        far = m.compare(">=", size, 2.0 ** (shift + 23))
        factors = [
            m.select(far, 2.0**-shift, factors[0]),
            d.select(far, high, factors[1]),
            d.select(far, low, factors[2]),
        ]
    return d.cast(m.mul(x, factors[0]), d.real), factors[1], factors[2]


def _double(m: Arithmetic, x: Expr, phase: float) -> Expr:
    k, shifted = _half_turns(x, INVERSE_PI, phase)
    r = x
    for part in PI_F64:
        r = m.fma(k, -part, r)
    square = m.mul(r, r)
    y = m.fma(m.mul(square, r), m.polynomial(square, SIN_F64), r)
    if phase == 0:
        y = m.with_sign_of(y, r)  # of -0, which a sum loses
    angle, quarters = reduce_large_angle(m, x)
    quarters = quarters if phase == 0 else m.whole_add(quarters, 1)
    sine, cosine = sine_and_cosine(m, angle)
    pairs = Pairs(m, True)
    odd = m.odd(quarters)
    distant = pairs.value(pairs.select(odd, cosine, sine))
    distant = m.from_bits(
        m.bitwise("bit_xor", m.bits(distant), m.bitwise("shl", m.bitwise("shr", quarters, 1), 63))
    )
    return m.rarely(m.compare(">=", m.call("abs", x), LARGE_ANGLE), distant, _flip(y, shifted, phase))


def tan(m: Arithmetic, x: Expr) -> Expr:
    """s / c, or -c / s after an odd number of quarter turns."""
    return (
        _tan_single(m, x)
        if m.real == F32
        else m.rarely(
            m.compare(">=", m.call("abs", x), LARGE_ANGLE),
            _tangent(m, *reduce_large_angle(m, x)),
            _tan_near(m, x),
        )
    )


def _tan_near(m: Arithmetic, x: Expr) -> Expr:
    y = _tangent(m, *reduce_small_angle(m, x))
    return m.select(m.compare("==", x, 0.0), x, y)


def _tangent(m: Arithmetic, angle: Pair, quarters: Expr) -> Expr:
    pairs = Pairs(m, True)
    sine, cosine = sine_and_cosine(m, angle)
    odd = m.odd(quarters)
    y = pairs.value(pairs.quotient(pairs.select(odd, cosine, sine), pairs.select(odd, sine, cosine)))
    return m.select(odd, m.neg(y), y)


def _tan_single(m: Arithmetic, x: Expr) -> Expr:
    """tan(pi f / 2) where f is 2 x / pi to the nearest integer."""
    d = DOUBLE
    small, high, low = _single_turns(m, x)
    k, shifted = _half_turns(small, d.add(high, high), 0.0)
    f = d.fma(small, low, d.mul(d.fma(small, high, d.mul(k, -0.5)), 1.0))
    c = d.sub(0.5, d.call("abs", f))
    sine, cosine = (d.mul(d.polynomial(d.mul(v, v), SIN_PI_F32), v) for v in (f, c))
    odd = d.odd(d.bits(shifted))
    y = d.div(d.select(odd, d.neg(cosine), sine), d.select(odd, sine, cosine))
    return d.cast(y, m.real)
