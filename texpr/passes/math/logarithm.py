"""log, log2, log1p: x = 2^-k m with m around 1, then a polynomial in f = m - 1.

The exponent is kept negated (k), since 0 * -ln 2 = -0 keeps the sign of a zero it is added to.
"""

from __future__ import annotations

import math

from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import LN2_F64, LOG2_F32, LOG2E_F32, LOG2E_F64, LOG_F32, LOG_F64
from texpr.passes.math.primitives import Arithmetic
from texpr.support.frozen_dataclass import frozen


@frozen
class Parts:
    """x = 2^-k (1 + f + low); `low` is a rounding error, None where there is none."""

    k: Expr
    f: Expr
    low: Expr | None = None


def _negated_exponent(m: Arithmetic, bits: Expr) -> Expr:
    """k * 2^mantissa as an integer, with the number of these bits times 2^k in (sqrt(1/2),
    sqrt(2)].
    """
    upper = m.one_bits + int((math.sqrt(2.0) - 1.0) * 2.0**m.mantissa)
    return m.bitwise("bit_and", m.whole_sub(upper, bits), -1 << m.mantissa)


def _as_float(m: Arithmetic, field: Expr, offset: Expr | None) -> Expr:
    """The float k of an integer k * 2^mantissa; `offset` is added (+0 if None)."""
    if m.real == F32:
        k = m.cast(field, F32)
        return m.mul(k, 2.0**-m.mantissa) if offset is None else m.fma(k, 2.0**-m.mantissa, offset)
    whole = m.whole_add(
        m.bitwise("shr", field, m.mantissa), ((m.bias + m.mantissa) << m.mantissa) + (1 << (m.mantissa - 1))
    )
    return m.sub(m.from_bits(whole), m.magic if offset is None else m.sub(m.magic, offset))


def split_normal(m: Arithmetic, x: Expr, offset: Expr | None = None) -> Parts:
    """Of a positive normal number; `offset` is added to k."""
    bits = m.bits(x)
    field = _negated_exponent(m, bits)
    return Parts(_as_float(m, field, offset), m.sub(m.from_bits(m.whole_add(bits, field)), 1.0))


def split(m: Arithmetic, x: Expr) -> Parts:
    """Of a positive finite number, denormal ones included."""
    up = m.mantissa + 1
    small = m.compare("<", x, m.least_normal)
    return split_normal(m, m.select(small, m.mul(x, 2.0**up), x), m.select(small, float(up), 0.0))


def _log_of_sum(m: Arithmetic, f: Expr) -> tuple[Expr, Expr]:
    """log(1 + f) in f64 as a large and a small part: with s = f / (2 + f), f - f^2/2 + s (f^2/2
    + R(s)) (fdlibm, e_log.c).
    """
    s = m.div(f, m.add(f, 2.0))
    square = m.mul(s, s)
    half = m.mul(m.mul(f, 0.5), f)
    rest = m.fma(square, m.polynomial(square, LOG_F64), half)
    return f, m.fma(s, rest, m.neg(half))


def _log(m: Arithmetic, parts: Parts) -> Expr:
    if m.real == F32:
        return m.fma(parts.k, -math.log(2), _log_near_f32(m, parts))
    large, small = _log_of_sum(m, parts.f)
    small = small if parts.low is None else m.add(small, parts.low)
    high, low = LN2_F64
    return m.fma(parts.k, -high, m.add(large, m.fma(parts.k, -low, small)))


def _log_near_f32(m: Arithmetic, parts: Parts) -> Expr:
    square, terms = m.mul(parts.f, parts.f), m.polynomial(parts.f, LOG_F32)
    if parts.low is None:
        return m.fma(square, terms, parts.f)
    return m.add(m.fma(square, terms, parts.low), parts.f)


def _special(m: Arithmetic, x: Expr, y: Expr, zero: float) -> Expr:
    """y, but log's values at infinity, NaN, the pole `zero` and below it."""
    y = m.select(m.compare("<", x, math.inf), y, x)
    return m.select(m.compare(">", x, zero), y, m.select(m.compare("==", x, zero), -math.inf, math.nan))


def log(m: Arithmetic, x: Expr) -> Expr:
    """Of denormal numbers too; -inf at 0, NaN below."""
    return _special(m, x, _log(m, split(m, x)), 0.0)


def log_of_normal(m: Arithmetic, x: Expr) -> Expr:
    """Of a positive normal number."""
    return _log(m, split_normal(m, x))


def log_parts(m: Arithmetic, x: Expr) -> tuple[Expr, Expr]:
    """k and l with log(x) = l - k ln 2 for a positive normal f32."""
    parts = split_normal(m, x)
    return parts.k, _log_near_f32(m, parts)


def log1p(m: Arithmetic, x: Expr) -> Expr:
    """The exponent of 1 + x, then f = 2^k x - (1 - 2^k), which has no cancellation and keeps the
    sign of zero.
    """
    field = _negated_exponent(m, m.bits(m.add(x, 1.0)))
    scaled = m.from_bits(m.whole_add(m.bits(x), field))
    four = m.from_bits(m.whole_add(field, m.one_bits + (2 << m.mantissa)))
    rest = m.fma(four, -0.25, 1.0)
    f = m.sub(scaled, rest)
    low = m.sub(scaled, m.add(f, rest))
    return _special(m, x, _log(m, Parts(_as_float(m, field, None), f, low)), -1.0)


def log2(m: Arithmetic, x: Expr) -> Expr:
    """As log; exact at powers of two."""
    parts = split(m, x)
    if m.real == F32:
        high, low = LOG2E_F32
        square = m.mul(parts.f, parts.f)
        small = m.fma(square, m.polynomial(parts.f, LOG2_F32), m.mul(parts.f, low))
        y = m.fma(parts.f, high, small)
    else:
        high, low = LOG2E_F64
        near = m.add(*_log_of_sum(m, parts.f))
        y = m.fma(near, high, m.mul(near, low))
    return _special(m, x, m.sub(y, parts.k), 0.0)
