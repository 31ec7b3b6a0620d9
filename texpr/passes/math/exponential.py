"""exp, exp2, expm1, and what is made of them: sigmoid and tanh.

exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2 (Cody and Waite, Software Manual for the Elementary Functions, 1980).
The last product rounds once, so results below the normal numbers are as good as the number has
bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import (
    EXP2_F32,
    EXP2_F64,
    EXP_F32,
    EXP_F64,
    LN2_F32,
    LN2_F64,
    LOG2E_F32,
    LOG2E_F64,
    TANH_F32,
)
from texpr.passes.math.primitives import SCALE, Arithmetic
from texpr.support.frozen_dataclass import frozen


@frozen
class Reduced:
    """x = n ln 2 + r, with `high` the part of r that has no rounding error and `shifted` n as
    `Arithmetic.nearest` has it.
    """

    n: Expr
    shifted: Expr
    high: Expr
    r: Expr
    ln2_low: float


def _reduce(m: Arithmetic, x: Expr, offset: int) -> Reduced:
    high_ln2, low_ln2 = LN2_F32 if m.real == F32 else LN2_F64
    n, shifted = m.nearest(x, (LOG2E_F32 if m.real == F32 else LOG2E_F64)[0], offset)
    high = m.fma(n, -high_ln2, x)
    return Reduced(n, shifted, high, m.fma(n, -low_ln2, high), low_ln2)


def _exp_terms(m: Arithmetic, r: Expr) -> Expr:
    """(exp(r) - 1 - r) / r^2."""
    return m.polynomial(r, EXP_F32 if m.real == F32 else EXP_F64)


def _expm1_tail(m: Arithmetic, a: Reduced) -> Expr:
    """exp(r) - 1 - a.high."""
    square = m.mul(a.r, a.r)
    return m.fma(square, _exp_terms(m, a.r), m.mul(a.n, -a.ln2_low))


def exp(m: Arithmetic, x: Expr) -> Expr:
    """e^x."""
    least, most = (-104.0, 89.0) if m.real == F32 else (-746.0, 710.0)
    return _scaled(m, x, least, most, partial(_exp, m))


def _exp(m: Arithmetic, x: Expr) -> Expr:
    """e^x within the range of the numbers."""
    a = _reduce(m, x, 2 * m.bias)
    return m.scale(m.fma(m.fma(_exp_terms(m, a.r), a.r, 1.0), a.r, 1.0), a.n, a.shifted)


def one_and_exp(m: Arithmetic, x: Expr) -> Expr:
    """1 + e^x, where e^x is a normal number, rounded once."""
    a = _reduce(m, x, m.bias)
    power = m.fma(m.fma(_exp_terms(m, a.r), a.r, 1.0), a.r, 1.0)
    return m.fma(power, m.from_exponent(a.shifted), 1.0)


def _scaled(m: Arithmetic, x: Expr, least: float, most: float, power: Callable[[Expr], Expr]) -> Expr:
    """A power of x, which is 0 below `least`: an instruction that scales rounds to 0 there,
    elsewhere it is selected.
    """
    if SCALE in m.native:
        return power(m.at_most(m.at_least(x, least), most))
    vanishes, x = _above(m, x, least)
    return m.select(vanishes, 0.0, power(m.at_most(x, most)))


def _above(m: Arithmetic, x: Expr, least: float) -> tuple[Expr, Expr]:
    """The condition that x is below the least number whose result is not 0, and x, or 0 there:
    processors take far longer for products that round to 0 than for others, and masked scores of
    attention are -inf.
    """
    below = m.compare("<", x, least)
    return below, m.select(below, 0.0, x)


def exp2(m: Arithmetic, x: Expr) -> Expr:
    """2^x; the reduction x = n + r is exact."""
    least, most = (-151.0, 129.0) if m.real == F32 else (-1076.0, 1025.0)
    return _scaled(m, x, least, most, partial(_exp2, m))


def _exp2(m: Arithmetic, x: Expr) -> Expr:
    """2^x within the range of the numbers."""
    n, shifted = m.nearest(x, 1.0, 2 * m.bias)
    return m.scale(m.polynomial(m.sub(x, n), (1.0, *(EXP2_F32 if m.real == F32 else EXP2_F64))), n, shifted)


def expm1(m: Arithmetic, x: Expr) -> Expr:
    """2^n (exp(r) - 1) + (2^n - 1), halved until the end so that 2^n stays finite; x itself
    where that is the nearest number.
    """
    lo, hi = (-25.0, 89.0) if m.real == F32 else (-45.0, 710.0)
    a = _reduce(m, m.at_most(m.at_least(x, lo), hi), m.bias - 1)
    half = m.from_exponent(a.shifted)
    y = m.fma(half, _expm1_tail(m, a), m.fma(half, a.high, m.sub(half, 0.5)))
    return m.select(m.compare("<", m.call("abs", x), 2.0 ** -(m.mantissa + 2)), x, m.add(y, y))


def sigmoid(m: Arithmetic, x: Expr) -> Expr:
    """1 / (1 + exp(-x)) = s / (s + exp(r)) with s = 2^n and r = n ln 2 - x.

    The quotient q of 1 and the rounded divisor is improved by a Newton step with the parts of the
    divisor, which have no error: q + q (1 - q - q s - q (exp(r) - 1)). Only the last product can
    round to a denormal number.
    """
    least, most, shift = (-104.0, 20.0, 64) if m.real == F32 else (-746.0, 40.0, 512)
    vanishes, x = _above(m, x, least)
    a = _reduce(m, m.at_most(x, most), m.bias + shift)
    r = m.neg(a.r)
    growth = m.fma(m.mul(r, r), _exp_terms(m, r), r)
    large = m.from_exponent(a.shifted)
    s = m.mul(large, 2.0**-shift)
    q = m.div(1.0, m.add(m.fma(large, 2.0**-shift, growth), 1.0))
    negated = m.neg(q)
    error = m.fma(negated, growth, m.fma(negated, s, m.sub(1.0, q)))
    return m.select(vanishes, 0.0, m.mul(m.mul(m.fma(q, error, q), large), 2.0**-shift))


def tanh(m: Arithmetic, x: Expr) -> Expr:
    """A cheap blend for f32, one quotient for f64."""
    return _tanh_blend(m, x) if m.real == F32 else _tanh_quotient(m, x)


def _tanh_quotient(m: Arithmetic, x: Expr) -> Expr:
    """(s (v + 1) - 1) / (s (v + 1) + 1) with s = 2^n and v = exp(r) - 1, of 2|x| = n ln 2 + r.

    As in `sigmoid`, a Newton step with the exact parts removes the rounding errors of both.
    """
    magnitude = m.at_most(m.call("abs", x), 22.0)
    a = _reduce(m, m.add(magnitude, magnitude), m.bias)
    s, tail = m.from_exponent(a.shifted), _expm1_tail(m, a)
    more = m.add(s, 1.0)
    less = m.sub(more, 2.0)  # not s - 1: for a large s both lose the same
    dividend = m.fma(s, tail, m.fma(s, a.high, less))
    inverse = m.div(1.0, m.add(dividend, 2.0))
    y = m.mul(dividend, inverse)
    slope = m.fma(m.neg(y), s, s)
    error = m.fma(slope, tail, m.fma(slope, a.high, m.fma(m.neg(y), more, less)))
    return m.with_sign_of(m.fma(error, inverse, y), x)


def _tanh_blend(m: Arithmetic, x: Expr) -> Expr:
    """Near 0 a polynomial; beyond, 1 - 2 / (exp(2|x|) + 1), where one part of ln 2 is enough."""
    magnitude = m.at_most(m.call("abs", x), 10.0)
    double = m.add(magnitude, magnitude)
    n, shifted = m.nearest(double, LOG2E_F32[0], m.bias)
    p = m.polynomial(m.fma(n, -math.log(2), double), (1.0, 1.0, *EXP_F32))
    outer = m.sub(1.0, m.div(2.0, m.fma(m.from_exponent(shifted), p, 1.0)))
    square = m.mul(x, x)
    inner = m.fma(m.mul(square, magnitude), m.polynomial(square, TANH_F32), magnitude)
    return m.with_sign_of(m.select(m.compare("<", magnitude, 0.625), inner, outer), x)
