"""lgamma, gamma, digamma and trigamma, in f64; f32 results are rounded once.

For x below 8.5 the argument is brought to 2 + z with |z| <= 1/2, where log gamma(2 + z) is z times a
series in z that has no zero; above, Stirling's series (Abramowitz and Stegun, 6.1.33, 6.1.40, 6.3.18,
6.4.12). Negative arguments are reflected. Large and negative ones stand behind a branch, since most
vectors have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from texpr.ir.expr import Expr
from texpr.ir.functions import BERNOULLI
from texpr.passes.math.exponential import exp
from texpr.passes.math.gamma_coefficients import DIGAMMA, LGAMMA, STIRLING
from texpr.passes.math.logarithm import log
from texpr.passes.math.power import power
from texpr.passes.math.primitives import Arithmetic
from texpr.passes.math.trigonometric import cos, sin

LARGE = 8.5
"""From here on the series of lgamma, gamma and digamma are exact enough."""


def _near_two(m: Arithmetic, a: Expr) -> tuple[Expr, Expr, Expr]:
    """z, f and whether gamma(a) is gamma(2 + z) / f; else it is gamma(2 + z) f. For 0 <= a <=
    8.5.
    """
    rest, down = a, m.const(1.0)
    for _ in range(6):
        above = m.compare(">", rest, 2.5)
        less = m.sub(rest, 1.0)
        down = m.select(above, m.fma(down, less, -0.0), down)
        rest = m.select(above, less, rest)
    below, least = m.compare("<", a, 1.5), m.compare("<", a, 0.5)
    up = m.select(least, m.fma(a, a, a), a)
    z = m.select(least, a, m.select(below, m.sub(a, 1.0), m.sub(rest, 2.0)))
    return z, m.select(below, up, down), below


def _series(m: Arithmetic, a: Expr, coefficients: Sequence[float]) -> Expr:
    """A polynomial in 1 / a^2, divided by a."""
    inverse = m.div(1.0, a)
    return m.fma(inverse, m.polynomial(m.mul(inverse, inverse), coefficients), -0.0)


def _sine(m: Arithmetic, x: Expr) -> tuple[Expr, Expr]:
    """sin(pi x) but for its sign, and pi times what x has beside the nearest whole number."""
    angle = m.mul(m.sub(x, m.call("rint", x)), math.pi)
    return m.call("abs", sin(m, angle)), angle


def lgamma(m: Arithmetic, x: Expr) -> Expr:
    """log |gamma(x)|; infinity at 0, -1, -2, ... and at both ends."""
    a = m.call("abs", x)
    small = m.at_most(a, LARGE)
    z, factor, divided = _near_two(m, small)
    logarithm = log(m, factor)
    near = m.fma(z, m.polynomial(z, LGAMMA), m.select(divided, m.neg(logarithm), logarithm))
    large = m.at_least(a, LARGE)
    half = m.sub(large, 0.5)
    far = m.fma(
        half, m.sub(log(m, large), 1.0), m.add(_series(m, large, STIRLING), 0.5 * math.log(2 * math.pi) - 0.5)
    )
    positive = m.rarely(m.compare(">=", a, LARGE), far, near)
    sine, _ = _sine(m, x)
    negative = m.sub(m.sub(math.log(math.pi), log(m, m.mul(sine, a))), positive)
    whole = m.compare("==", sine, 0.0)
    y = m.rarely(m.compare("<", x, 0.0), m.select(whole, math.inf, negative), positive)
    return m.select(m.compare("<", a, math.inf), y, a)


def gamma(m: Arithmetic, x: Expr) -> Expr:
    """The integral of t^(x-1) exp(-t); infinity at zeros, with their sign, and NaN at -1, -2,
    ... and -infinity.
    """
    a = m.call("abs", x)
    z, factor, divided = _near_two(m, m.at_most(a, LARGE))
    middle = exp(m, m.fma(z, m.polynomial(z, LGAMMA), -0.0))
    near = m.select(divided, m.div(middle, factor), m.mul(middle, factor))
    large = m.at_most(m.at_least(a, LARGE), 172.0)
    root = power(m, large, m.fma(large, 0.5, -0.25))
    tail = m.mul(exp(m, _series(m, large, STIRLING)), math.sqrt(2 * math.pi))
    far = m.mul(m.mul(root, m.mul(exp(m, m.neg(large)), tail)), root)
    positive = m.rarely(m.compare(">=", a, LARGE), m.select(m.compare("<", a, 171.7), far, math.inf), near)
    sine, _ = _sine(m, x)
    floor = m.call("floor", x)
    odd = m.compare("!=", m.mul(m.call("floor", m.mul(floor, 0.5)), 2.0), floor)
    size = m.div(m.div(math.pi, m.mul(sine, a)), positive)
    negative = m.select(m.compare("==", sine, 0.0), math.nan, m.select(odd, m.neg(size), size))
    y = m.rarely(m.compare("<", x, 0.0), negative, positive)
    y = m.select(m.compare("==", a, 0.0), m.div(1.0, x), y)
    return m.select(m.compare("!=", x, x), x, m.select(m.compare("==", x, -math.inf), math.nan, y))


def digamma(m: Arithmetic, x: Expr) -> Expr:
    """gamma' / gamma; infinity at zeros, of the other sign, and NaN at -1, -2, ... and
    -infinity.
    """
    below = m.compare("<", x, 0.0)
    a = m.select(below, m.sub(1.0, x), x)
    rest, less = m.at_least(a, 1e-300), m.const(0.0)
    for _ in range(9):
        low = m.compare("<", rest, LARGE)
        less = m.select(low, m.add(less, m.div(1.0, rest)), less)
        rest = m.select(low, m.add(rest, 1.0), rest)
    inverse = m.div(1.0, rest)
    square = m.mul(inverse, inverse)
    terms = m.fma(square, m.polynomial(square, DIGAMMA), m.fma(inverse, -0.5, m.neg(less)))
    positive = m.add(log(m, rest), terms)
    sine, angle = _sine(m, x)
    slope = m.div(m.mul(cos(m, angle), math.pi), m.with_sign_of(sine, angle))
    negative = m.select(m.compare("==", sine, 0.0), math.nan, m.sub(positive, slope))
    y = m.rarely(below, negative, positive)
    y = m.select(m.compare("==", x, 0.0), m.div(-1.0, x), y)
    return m.select(m.compare("!=", x, x), x, m.select(m.compare("==", x, -math.inf), math.nan, y))


def trigamma(m: Arithmetic, x: Expr) -> Expr:
    """digamma'; infinity at 0, -1, -2, ... and NaN at -infinity."""
    below = m.compare("<", x, 0.0)
    rest, more = m.at_least(m.select(below, m.sub(1.0, x), x), 1e-300), m.const(0.0)
    for _ in range(12):
        low, inverse = m.compare("<", rest, 12.0), m.div(1.0, rest)
        more = m.select(low, m.fma(inverse, inverse, more), more)
        rest = m.select(low, m.add(rest, 1.0), rest)
    inverse = m.div(1.0, rest)
    square = m.mul(inverse, inverse)
    tail = m.fma(square, m.polynomial(square, BERNOULLI), m.fma(inverse, 0.5, 1.0))
    positive = m.fma(inverse, tail, more)
    sine, _ = _sine(m, x)
    ratio = m.div(math.pi, sine)
    y = m.rarely(below, m.fma(ratio, ratio, m.neg(positive)), positive)
    y = m.select(m.compare("==", x, 0.0), math.inf, y)
    return m.select(m.compare("!=", x, x), x, m.select(m.compare("==", x, -math.inf), math.nan, y))
