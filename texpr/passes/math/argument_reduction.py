"""f64 angles as quarter turns and a pair of at most pi/4, for every finite number.

Far from 0 the product with 2/pi is formed modulo 4 from as many bits of 2/pi as that needs (Payne
and Hanek, Radian Reduction for Trigonometric Functions, SIGNUM Newsletter 1983), in f64 arithmetic
alone: x 2^-32j, which is below 2^76 and a multiple of 2^-8, times 2^32j 2/pi modulo 1024.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from texpr.ir.build import literal
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Expr
from texpr.passes.math.coefficients import COS_F64, HALF_PI, INVERSE_PI, PI_F64, QUARTER_TURNS, SIN_F64
from texpr.passes.math.double_double import Pair, Pairs
from texpr.passes.math.primitives import Arithmetic

LARGE_ANGLE = 2.0**44
"""|x| from which on an angle is reduced with more parts of pi."""


def reduce_small_angle(m: Arithmetic, x: Expr) -> tuple[Pair, Expr]:
    """Reduce |x| < 2^44: the angle, and an integer whose lower bits count quarter turns."""
    p = Pairs(m, True)
    k, shifted = m.nearest(x, 2 * INVERSE_PI, 0)
    first, second, third = (math.ldexp(part, -1) for part in PI_F64)
    high = m.fma(k, -first, x)
    step = p.product((k, None), (m.const(-second), None))
    a, b = p.sum(high, step[0], step[1])
    return p.ordered(a, m.fma(k, -third, b)), m.bits(shifted)  # type: ignore[arg-type]


def reduce_large_angle(m: Arithmetic, x: Expr) -> tuple[Pair, Expr]:
    """Reduce 2^44 <= |x| < infinity; NaN beyond."""
    p = Pairs(m, True)
    exponent = m.bitwise("bit_and", m.bitwise("shr", m.bits(x), m.mantissa), 2 * m.bias + 1)
    group = m.bitwise("bit_and", m.bitwise("shr", m.whole_sub(exponent, m.bias + 44), 5), 31)
    small = m.mul(
        x, m.from_bits(m.bitwise("shl", m.whole_sub(m.bias, m.bitwise("shl", group, 5)), m.mantissa))
    )
    bits = [Compare("!=", m.bitwise("bit_and", group, 1 << b), literal(0, I64)) for b in range(5)]
    parts = [_entry(m, bits, [row[i] for row in QUARTER_TURNS]) for i in range(4)]
    (h0, e0), (h1, e1), (h2, e2) = (p.product((small, None), (part, None)) for part in parts[:3])
    last = m.fma(small, parts[3], -0.0)
    a, c = p.sum(_modulo_4(m, h0), _modulo_4(m, e0))  # type: ignore[arg-type]
    a, c0 = p.sum(a, _modulo_4(m, h1))
    k, shifted = m.nearest(a, 1.0, 0)
    f, c1 = p.sum(m.sub(a, k), e1)  # type: ignore[arg-type]
    f, c2 = p.sum(f, h2)
    g, d0 = p.sum(c, c0)  # type: ignore[arg-type]
    g, d1 = p.sum(g, c1)  # type: ignore[arg-type]
    g, d2 = p.sum(g, c2)  # type: ignore[arg-type]
    f, g = p.sum(f, g)  # type: ignore[assignment]
    turn = p.sum(f, m.add(g, p.low(d0, d1, d2, e2, last)))  # type: ignore[arg-type]
    return p.product(turn, (m.const(HALF_PI[0]), m.const(HALF_PI[1]))), m.bits(shifted)


def _modulo_4(m: Arithmetic, x: Expr) -> Expr:
    """x less the nearest multiple of 4, exactly."""
    return m.fma(m.call("rint", m.mul(x, 0.25)), -4.0, x)


def _entry(m: Arithmetic, bits: Sequence[Expr], column: Sequence[float]) -> Expr:
    """The entry of a table whose number has these bits, by halving it; the last entry stands for
    the missing ones.
    """
    level = [m.const(v) for v in [*column, column[-1]]]
    for bit in bits:
        level = [m.select(bit, odd, even) for even, odd in zip(level[::2], level[1::2])]
    return level[0]


def sine_and_cosine(m: Arithmetic, angle: Pair) -> tuple[Pair, Pair]:
    """Of |angle| <= pi/4, as pairs."""
    p = Pairs(m, True)
    r, low = angle
    assert low is not None
    square = m.fma(r, r, -0.0)
    sine = m.fma(m.mul(square, r), m.polynomial(square, SIN_F64), m.fma(m.mul(square, low), -0.5, low))
    half = m.fma(square, 0.5, -0.0)
    lost = m.fma(m.fma(r, r, m.neg(square)), -0.5, m.fma(m.neg(r), low, -0.0))
    cosine = p.ordered(1.0, m.neg(half), m.fma(m.mul(square, square), m.polynomial(square, COS_F64), lost))
    return p.ordered(r, sine), p.ordered(*cosine)  # type: ignore[arg-type]
