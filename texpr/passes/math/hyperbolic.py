"""sinh, cosh and the inverses: exponentials and logarithms of pairs."""

from __future__ import annotations

import math

from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import SINH_F64, SINH_SHORT
from texpr.passes.math.double_double import Pair, Pairs

LN2 = (math.log(2), 2.3190468138462996e-17)


def _halves(p: Pairs, size: Expr) -> tuple[Pair, Expr, Expr, Expr]:
    """exp(size) = e 2^n, exp(-size) = small 2^n: the pair e, small, n - 1 and its shifted form."""
    m = p.m
    e, n, shifted = p.exp((m.at_most(size, 712.0), None), 2 * m.bias)
    down = m.from_exponent(m.sub(m.magic + m.bias, m.at_most(n, 500.0)))
    small = m.fma(m.div(down, e[0]), down, -0.0)
    return e, small, m.sub(n, 1.0), m.sub(shifted, 1.0)


def sinh(p: Pairs, x: Expr) -> Expr:
    """A polynomial below 1, then (e^x - e^-x) / 2."""
    m = p.m
    size = m.call("abs", x)
    square = m.mul(m.at_most(size, 1.0), size)
    near = m.fma(m.mul(square, size), m.polynomial(square, p.choose(SINH_F64, SINH_SHORT)), size)
    e, small, n, shifted = _halves(p, size)
    far = m.scale(p.value(p.ordered(e[0], m.neg(small), e[1])), n, shifted)
    return m.with_sign_of(m.select(m.compare("<", size, 1.0), near, far), x)


def cosh(p: Pairs, x: Expr) -> Expr:
    """(e^x + e^-x) / 2"""
    m = p.m
    e, small, n, shifted = _halves(p, m.call("abs", x))
    return m.scale(p.value(p.sum(e[0], small, e[1])), n, shifted)


def _log_of(p: Pairs, x: Expr, plus: Pair) -> Expr:
    """log(1 + plus), and log(2 x) for an x so large that nothing else counts."""
    m = p.m
    large = m.compare(">", x, 2.0**60)
    high, low = p.log1p(
        (m.select(large, x, plus[0]), None if plus[1] is None else m.select(large, 0.0, plus[1]))
    )
    extra = p.sum(high, m.select(large, LN2[0], 0.0), low, m.select(large, LN2[1], 0.0))
    return m.select(m.compare("<", x, math.inf), p.value(extra), x)


def asinh(p: Pairs, x: Expr) -> Expr:
    """log(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|."""
    m = p.m
    size = m.call("abs", x)
    a = m.at_most(size, 2.0**61)
    square = p.product((a, None), (a, None))
    whole = p.sum(1.0, square[0], square[1])
    root = p.root(whole)
    more = p.quotient(square, p.sum(1.0, root[0], root[1]))
    return m.with_sign_of(_log_of(p, size, p.sum(a, more[0], more[1])), x)


def acosh(p: Pairs, x: Expr) -> Expr:
    """log(1 + t + sqrt(t^2 + 2 t)) with t = x - 1."""
    m = p.m
    a = m.at_most(x, 2.0**61)
    t = p.sum(a, -1.0)
    square = p.product(t, t)
    double = m.add(t[0], t[0]), None if t[1] is None else m.add(t[1], t[1])
    root = p.root(p.sum(square[0], double[0], square[1], double[1]))
    y = _log_of(p, x, p.sum(t[0], root[0], t[1], root[1]))
    return m.select(m.compare(">=", x, 1.0), y, math.nan)


def atanh(p: Pairs, x: Expr) -> Expr:
    """log(1 + 2 a / (1 - a)) / 2 with a = |x|."""
    m = p.m
    size = m.call("abs", x)
    a = m.select(m.compare("<", size, 1.0), size, 0.5)
    plus = p.quotient((m.add(a, a), None), p.sum(1.0, m.neg(a)))
    y = m.mul(p.value(p.log1p(plus)), 0.5)
    y = m.select(m.compare("<", size, 1.0), y, m.select(m.compare("==", size, 1.0), math.inf, math.nan))
    return m.with_sign_of(y, x)
