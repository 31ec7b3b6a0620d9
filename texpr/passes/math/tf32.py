"""tf32: numbers as tensor cores take f32, with 10 bits of fraction."""

from __future__ import annotations

import math

from texpr.ir.dtypes import BOOL, F64
from texpr.ir.expr import Call, Expr
from texpr.passes.math.primitives import Arithmetic

FRACTION = 10
LEAST = 2.0**-136
"""The last place of numbers without a leading bit."""


def tf32(m: Arithmetic, x: Expr) -> Expr:
    """The nearest number with 10 bits of fraction and an exponent of f32, of two the one away
    from 0; NaN stays. `cvt.rna.tf32.f32`.
    """
    half = 1 << (m.mantissa - FRACTION - 1)
    near = m.from_bits(m.bitwise("bit_and", m.whole_add(m.bits(x), half), -2 * half))
    if m.real == F64:
        near = m.with_sign_of(_as_f32(m, m.call("abs", x), m.call("abs", near)), x)
    return m.select(Call("isnan", (x,), dtype=BOOL), x, near)


def _as_f32(m: Arithmetic, size: Expr, near: Expr) -> Expr:
    """f64 has exponents that f32 lacks: the ends are rounded as f32 has them."""
    low = m.mul(m.call("floor", m.fma(size, 1 / LEAST, 0.5)), LEAST)
    high = m.select(m.compare("<", near, 2.0**128), near, math.inf)
    return m.select(m.compare("<", size, 2.0**-126), low, high)
