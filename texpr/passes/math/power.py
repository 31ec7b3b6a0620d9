"""Pow: multiplications for small whole exponents; otherwise 2^(y log2 |x|), in f64 for f32 and
in pairs of f64 for f64.
"""

from __future__ import annotations

import math

from texpr.ir.build import conjunction, disjunction, negation
from texpr.ir.dtypes import F32
from texpr.ir.expr import Const, Expr
from texpr.passes.math.coefficients import EXP2_SHORT, EXP_F64, LN2_F64, LOG2_SHORT, LOG2E_F64, LOG_PAIR
from texpr.passes.math.exponential import exp2
from texpr.passes.math.logarithm import split, split_normal
from texpr.passes.math.primitives import DOUBLE, Arithmetic

Pair = tuple[Expr, Expr]


def power(m: Arithmetic, x: Expr, y: Expr) -> Expr:
    """x to the power y."""
    if isinstance(x, Const) and x.value == 2:
        return exp2(m, y)
    if isinstance(y, Const):
        special = _constant(m, x, float(y.value))
        if special is not None:
            return special
    return _general(m, x, y)


def _constant(m: Arithmetic, x: Expr, y: float) -> Expr | None:
    """Exponents that are much cheaper without a logarithm: x^3 is within 1.3 ulp, x^4 within 2."""
    match y:
        case 0.0:
            return m.const(1.0)
        case 1.0:
            return x
        case 2.0:
            return m.mul(x, x)
        case 3.0:
            return m.mul(m.mul(x, x), x)
        case 4.0:
            square = m.mul(x, x)
            return m.mul(square, square)
        case -1.0:
            return m.div(1.0, x)
        case 0.5:
            return _square_root(m, x)
        case -0.5:
            return m.div(1.0, _square_root(m, x))
    return None


def _square_root(m: Arithmetic, x: Expr) -> Expr:
    """As a power: +0 for -0, infinity for -infinity."""
    root = m.call("sqrt", m.add(x, 0.0))
    return m.select(m.compare("==", x, -math.inf), math.inf, root)


def _general(m: Arithmetic, x: Expr, y: Expr) -> Expr:
    """The cases are those of C's pow, NumPy's too (IEEE 754-2019, 9.2.1)."""
    size = m.call("abs", x)
    bounded = m.at_most(m.at_least(y, -(2.0**64)), 2.0**64)  # more changes nothing, and 0 * bounded is 0
    result = _magnitude_f32(m, size, bounded) if m.real == F32 else _magnitude_f64(m, size, bounded)
    half = m.mul(y, 0.5)
    whole = m.compare("==", m.call("rint", y), y)
    odd = conjunction(whole, m.compare("!=", m.call("rint", half), half))
    zero = m.compare("==", size, 0.0)
    at_edge = m.select(
        m.compare("<", y, 0.0), m.select(zero, math.inf, 0.0), m.select(m.compare(">", y, 0.0), size, y)
    )
    result = m.select(conjunction(m.compare("<", x, 0.0), negation(whole)), math.nan, result)
    result = m.select(disjunction(zero, m.compare("==", size, math.inf)), at_edge, result)
    result = m.select(m.compare("!=", x, x), x, result)
    result = m.select(disjunction(m.compare("==", x, 1.0), m.compare("==", y, 0.0)), 1.0, result)
    sign = m.bitwise("bit_and", m.bits(x), -1 << (m.real.bits - 1))
    return m.from_bits(m.bitwise("bit_or", m.bits(result), m.whole_select(odd, sign, 0)))


def _magnitude_f32(m: Arithmetic, size: Expr, y: Expr) -> Expr:
    """size^y of a positive finite number."""
    d = DOUBLE
    parts = split_normal(d, d.cast(size, d.real))
    log2 = d.fma(d.polynomial(parts.f, LOG2_SHORT), parts.f, d.neg(parts.k))
    exponent = d.at_most(d.at_least(d.mul(d.cast(y, d.real), log2), -152.0), 130.0)
    n, shifted = d.nearest(exponent, 1.0, d.bias)
    p = d.polynomial(d.sub(exponent, n), (1.0, *EXP2_SHORT))
    return d.cast(d.mul(p, d.from_exponent(shifted)), m.real)


def _magnitude_f64(m: Arithmetic, size: Expr, y: Expr) -> Expr:
    """exp(y log(size)) of a positive finite number, the exponent as an unevaluated sum of two."""
    high, low = log_pair(m, size)
    exponent = m.mul(y, high)
    rest = m.fma(y, low, m.fma(y, high, m.neg(exponent)))
    exponent = m.at_most(m.at_least(exponent, -746.0), 710.0)
    rest = m.at_most(m.at_least(rest, -1e-9), 1e-9)  # larger only where the exponent was cut
    n, shifted = m.nearest(exponent, LOG2E_F64[0], 2 * m.bias)
    ln2_high, ln2_low = LN2_F64
    r = m.add(m.fma(n, -ln2_high, exponent), m.fma(n, -ln2_low, rest))
    return m.scale(m.polynomial(r, (1.0, 1.0, *EXP_F64)), n, shifted)


def log_pair(m: Arithmetic, x: Expr) -> Pair:
    """log(x) to about 2^-65: 2 s + s^3 (2/3 + s^2 ...) - k ln 2 with s = f / (2 + f)."""
    parts = split(m, x)
    s = _quotient(m, parts.f)
    square = _product(m, s, s)
    terms = m.polynomial(square[0], LOG_PAIR)
    third = 2 / 3
    sum_high = m.fma(square[0], terms, third)
    sum_low = m.add(
        m.fma(square[0], terms, m.sub(third, sum_high)), third / 2**54
    )  # 2/3 is third * (1 + 2^-54)
    cube = _product(m, square, s)
    near = m.fma(cube[0], sum_high, m.mul(s[0], 2.0))
    cross = m.fma(cube[0], sum_low, m.fma(cube[1], sum_high, m.mul(s[1], 2.0)))
    near_low = m.add(m.fma(cube[0], sum_high, m.fma(s[0], 2.0, m.neg(near))), cross)
    ln2_high, ln2_low = LN2_F64
    high = m.fma(parts.k, -ln2_high, near)
    lost = m.sub(near, m.fma(parts.k, ln2_high, high))
    return high, m.add(lost, m.fma(parts.k, -ln2_low, near_low))


def _quotient(m: Arithmetic, f: Expr) -> Pair:
    """f / (2 + f)."""
    divisor = m.add(f, 2.0)
    divisor_low = m.sub(f, m.sub(divisor, 2.0))
    inverse = m.div(1.0, divisor)
    high = m.mul(f, inverse)
    negated = m.neg(high)
    return high, m.mul(m.fma(negated, divisor_low, m.fma(negated, divisor, f)), inverse)


def _product(m: Arithmetic, a: Pair, b: Pair) -> Pair:
    high = m.mul(a[0], b[0])
    return high, m.fma(a[0], b[1], m.fma(a[1], b[0], m.fma(a[0], b[0], m.neg(high))))
