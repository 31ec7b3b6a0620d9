"""erf and erfinv.

erf is x + x Q(x^2) below 1; above, 1 - u^4 with a polynomial u for the fourth root of 1 - erf,
whose error u^4 makes small.
"""

from __future__ import annotations

import math

from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import (
    ERF_F32,
    ERF_F64,
    ERFC_F32,
    ERFC_F64,
    ERFINV_CENTRE,
    ERFINV_FAR,
    ERFINV_NEAR,
    LN2_F32,
)
from texpr.passes.math.double_double import Pairs
from texpr.passes.math.exponential import exp
from texpr.passes.math.logarithm import log_of_normal, log_parts
from texpr.passes.math.primitives import DOUBLE, Arithmetic
from texpr.passes.math.roots import erfc
from texpr.support.frozen_dataclass import replace

TAIL_START = 4.25
"""Value of -log(1 - x^2) from which on erfinv has another polynomial: of |x| above 0.9928."""
SLOPE = 0.2
"""Of erfinv(x) / x in w, about."""
INVERSE = 1.3
"""1 / (1 - x^2) about, where erfinv(x) / x is steepest in w."""


def erf(m: Arithmetic, x: Expr) -> Expr:
    """Both polynomials, one selected."""
    inner, tail, centre, end = (
        (ERF_F32, ERFC_F32, 2.0, 3.93) if m.real == F32 else (ERF_F64, ERFC_F64, 3.0, 5.95)
    )
    magnitude = m.at_most(m.call("abs", x), end)
    square = m.mul(magnitude, magnitude)
    near = m.fma(magnitude, m.polynomial(square, inner), magnitude)
    root = m.polynomial(m.sub(magnitude, centre), tail)
    root2 = m.mul(root, root)
    far = m.fma(m.neg(root2), root2, 1.0)
    return m.with_sign_of(m.select(m.compare("<", magnitude, 1.0), near, far), x)


def erfinv(m: Arithmetic, x: Expr) -> Expr:
    """The y with erf(y) = x; NaN beyond -1..1. x times a polynomial in w = -log(1 - x^2) or its
    root (Giles, Approximating the erfinv Function, 2010), and for f64 one of Halley's steps.
    """
    a = m.call("abs", x)
    inside = m.select(m.compare("<", a, 1.0), a, 0.0)
    y = _erfinv_single(m, inside) if m.real == F32 else _erfinv_double(m, inside)
    y = m.select(m.compare("<", a, 1.0), y, m.select(m.compare("==", a, 1.0), math.inf, math.nan))
    return m.with_sign_of(y, x)


def _erfinv_single(m: Arithmetic, x: Expr) -> Expr:
    """With what rounding the last sums lost; near 1 in f64, since the root of w would lose too
    much.
    """
    less = m.fma(m.neg(x), x, 1.0)
    k, log = log_parts(m, less)
    high, low = LN2_F32
    whole, part = m.fma(k, high, -ERFINV_CENTRE), m.fma(k, low, m.neg(log))
    part = m.fma(m.fma(m.neg(x), x, m.sub(1.0, less)), -INVERSE, part)
    t = m.add(whole, part)
    rest = m.polynomial(t, ERFINV_NEAR[1:])
    ratio = m.fma(t, rest, ERFINV_NEAR[0])
    lost = m.fma(t, rest, m.sub(ERFINV_NEAR[0], ratio))
    lost = m.fma(m.sub(part, m.sub(t, whole)), SLOPE, lost)
    near = m.fma(x, ratio, m.mul(x, lost))
    d = replace(DOUBLE, native=m.native)
    wide = d.cast(x, F64)
    far = _far(d, wide, d.neg(Pairs(d, False).log(d.fma(d.neg(wide), wide, 1.0))[0]))
    return m.rarely(m.compare(">", t, TAIL_START - ERFINV_CENTRE), m.cast(far, F32), near)


def _far(m: Arithmetic, x: Expr, w: Expr) -> Expr:
    return m.fma(
        x, m.polynomial(m.sub(m.call("sqrt", m.at_least(w, TAIL_START - 0.01)), 4.0), ERFINV_FAR), -0.0
    )


def _erfinv_double(m: Arithmetic, x: Expr) -> Expr:
    rest = m.sub(1.0, x)
    w = m.neg(log_of_normal(m, m.mul(rest, m.add(x, 1.0))))
    near = m.fma(x, m.polynomial(m.sub(w, ERFINV_CENTRE), ERFINV_NEAR), -0.0)
    y = m.select(m.compare("<", w, TAIL_START), near, _far(m, x, w))
    beyond = m.sub(rest, erfc(Pairs(m, True), y))
    error = m.select(m.compare("<", x, 0.5), m.sub(erf(m, y), x), beyond)
    step = m.mul(error, m.mul(exp(m, m.mul(y, y)), 0.5 * math.sqrt(math.pi)))
    return m.sub(y, m.div(step, m.fma(y, step, 1.0)))
