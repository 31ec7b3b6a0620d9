"""cbrt, hypot, log10 and erfc."""

from __future__ import annotations

import math

from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import CBRT, ERFCX_F64, ERFCX_SHORT, LOG10E
from texpr.passes.math.double_double import Pair, Pairs
from texpr.passes.math.logarithm import split


def cbrt(p: Pairs, x: Expr) -> Expr:
    """A polynomial, Halley's step y (y^3 + 2 a) / (2 y^3 + a), and for f64 Newton's with the
    residual of a pair.
    """
    m = p.m
    size = m.call("abs", x)
    normal = m.select(m.compare("<", size, math.inf), m.select(m.compare("==", size, 0.0), 1.0, size), 1.0)
    parts = split(m, normal)
    third, shifted = m.nearest(parts.k, 1 / 3, 0)
    rest = m.fma(third, -3.0, parts.k)
    up, down = m.compare(">", rest, 0.5), m.compare("<", rest, -0.5)
    a = m.mul(m.add(parts.f, 1.0), m.select(up, 0.5, m.select(down, 2.0, 1.0)))
    y = m.mul(m.polynomial(parts.f, CBRT), m.select(up, 2 ** (-1 / 3), m.select(down, 2 ** (1 / 3), 1.0)))
    cube = m.mul(m.mul(y, y), y)
    y = m.fma(y, m.div(m.fma(a, 2.0, cube), m.fma(cube, 2.0, a)), -0.0)
    if p.exact:
        square, low = p.product((y, None), (y, None))
        minus = m.neg(y)
        left = m.fma(minus, low, m.fma(minus, square, a))  # type: ignore[arg-type]
        y = m.add(y, m.div(left, m.mul(square, 3.0)))
    y = m.mul(y, m.from_exponent(m.sub(m.magic + m.bias, third)))
    y = m.select(m.compare("==", size, 0.0), size, m.select(m.compare("<", size, math.inf), y, size))
    return m.with_sign_of(y, x)


def hypot(p: Pairs, x: Expr, y: Expr) -> Expr:
    """sqrt(x^2 + y^2), scaled by a power of two where squares would leave the exponents;
    infinity wins over NaN.
    """
    m = p.m
    a, b = m.call("abs", x), m.call("abs", y)
    above = m.compare(">", a, b)
    most, least = m.select(above, a, b), m.select(above, b, a)
    if not p.exact:
        return _or_endless(p, a, b, m.call("sqrt", m.fma(most, most, m.mul(least, least))))
    large, small = m.compare(">", most, 2.0**500), m.compare("<", most, 2.0**-400)
    factor = m.select(large, 2.0**-600, m.select(small, 2.0**600, 1.0))
    back = m.select(large, 2.0**600, m.select(small, 2.0**-600, 1.0))
    most, least = m.mul(most, factor), m.mul(least, factor)
    first, second = p.product((most, None), (most, None)), p.product((least, None), (least, None))
    root = p.value(p.root(p.sum(first[0], second[0], first[1], second[1])))
    return _or_endless(p, a, b, m.mul(root, back))


def _or_endless(p: Pairs, a: Expr, b: Expr, result: Expr) -> Expr:
    m = p.m
    return m.select(
        m.compare("==", a, math.inf), math.inf, m.select(m.compare("==", b, math.inf), math.inf, result)
    )


def log10(p: Pairs, x: Expr) -> Expr:
    """log(x) log10(e); exact at powers of ten."""
    m = p.m
    usual = m.compare(">", x, 0.0)
    inside = m.select(m.compare("<", x, math.inf), x, 1.0)
    y = p.value(p.product(p.log(m.select(usual, inside, 1.0)), (m.const(LOG10E[0]), m.const(LOG10E[1]))))
    y = m.select(m.compare("<", x, math.inf), y, x)
    return m.select(usual, y, m.select(m.compare("==", x, 0.0), -math.inf, math.nan))


def erfc(p: Pairs, x: Expr) -> Expr:
    """exp(-x^2) times what `erfc_ratio` gives."""
    m = p.m
    a = m.at_most(m.call("abs", x), 27.5 if p.exact else 10.5)
    square = p.product((m.neg(a), None), (a, None))
    e, n, shifted = p.exp(square, 2 * m.bias)
    tail = p.product(e, erfc_ratio(p, (m.add(a, a), None)))
    # Above 1 for a negative x: 2 - erfc(-x).
    above = p.value(p.sum(2.0, *less(p, tail, n)))
    below = m.scale(p.value(tail), n, shifted)
    return m.select(m.compare("<", x, 0.0), above, m.select(m.compare("!=", x, x), x, below))


def erfc_ratio(p: Pairs, double: Pair) -> Pair:
    """erfc(a) / exp(-a^2) of `double` = 2 a >= 0: (1 + s P(s - 1)) / (1 + 2 a) with s = 2 a / (a +
    4).

    Shepherd and Laframboise, Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, Mathematics of
    Computation 1981.
    """
    m = p.m
    s = m.div(double[0], m.fma(double[0], 0.5, 4.0))
    curve = m.fma(m.polynomial(m.sub(s, 1.0), p.choose(ERFCX_F64, ERFCX_SHORT)), s, -0.0)
    return p.quotient(p.ordered(1.0, curve), p.sum(1.0, *double))


def less(p: Pairs, a: Pair, n: Expr) -> Pair:
    """-a 2^n for a summand that needs no care for small exponents."""
    m = p.m
    power = m.neg(m.from_exponent(m.add(m.at_least(n, -200.0), m.magic + m.bias)))
    return m.fma(a[0], power, -0.0), None if a[1] is None else m.fma(a[1], power, -0.0)
