"""gelu(x) = x Phi(x) with the normal distribution Phi (Hendrycks and Gimpel, Gaussian Error Linear
Units, 2016).

With t = |x| and g(t) = t (1 - Phi(t)) it is x - g(t) above 0 and -g(t) below. What books write, x (1 + erf(x / sqrt(2))) / 2, has no digits
left far below 0, where 1 + erf cancels, and is NaN at -infinity; here it is -0 there, the limit.
"""

from __future__ import annotations

from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import GELU_FAR, GELU_NEAR, ROOT2
from texpr.passes.math.double_double import Pair, Pairs
from texpr.passes.math.primitives import DOUBLE, Arithmetic
from texpr.passes.math.roots import erfc_ratio, less
from texpr.support.frozen_dataclass import replace

END = 5.6
"""From here on gelu(x) is x in f32."""
TAIL_START = 4.25
"""Value of -x from which on `GELU_NEAR` has too few digits."""


def gelu(m: Arithmetic, x: Expr) -> Expr:
    """x times the share of the normal distribution below x."""
    return _single(m, x) if m.real == F32 else _double(Pairs(m, True), x)


def _single(m: Arithmetic, x: Expr) -> Expr:
    """g in f64: with the eighth power of a polynomial, and far below 0, where few numbers are,
    with an exponential.
    """
    d = replace(DOUBLE, native=m.native)
    size = m.call("abs", x)
    t = d.cast(m.at_most(size, END), F64)
    both = d.mul(t, t)  # even and odd powers apart: chains of half the length
    root = d.fma(d.polynomial(both, GELU_NEAR[1::2]), t, d.polynomial(both, GELU_NEAR[::2]))
    square = d.mul(root, root)
    power = d.mul(square, square)
    near = m.sub(m.at_least(x, -0.0), m.cast(d.mul(d.mul(t, power), power), F32))
    far = m.neg(m.cast(_far(d, d.cast(m.at_most(size, 15.0), F64)), F32))
    return m.rarely(m.compare("<", x, -TAIL_START), far, near)


def _far(d: Arithmetic, t: Expr) -> Expr:
    """g(t) from `TAIL_START` to 15, where f32 has no number but 0."""
    p = Pairs(d, False)
    (power, _), _, shifted = p.exp(p.product((d.mul(t, -0.5), None), (t, None)), d.bias)
    return d.mul(d.mul(power, d.polynomial(t, GELU_FAR)), d.from_exponent(shifted))


def _double(p: Pairs, x: Expr) -> Expr:
    m = p.m
    size = m.call("abs", x)
    t = m.at_most(size, 39.0)
    tail, n, shifted = _beyond(p, t)
    y = m.select(
        m.compare("<", x, 0.0), m.scale(p.value(tail), n, shifted), p.value(p.sum(t, *less(p, tail, n)))
    )
    return m.with_sign_of(m.select(m.compare(">", x, 39.0), x, y), x)


def _beyond(p: Pairs, t: Expr) -> tuple[Pair, Expr, Expr]:
    """a, n, shifted with g(t) = a 2^n: t/2 exp(-t^2 / 2) times `erfc_ratio` of t / sqrt(2)."""
    m = p.m
    half = m.mul(t, 0.5)
    e, n, shifted = p.exp(p.product((m.neg(half), None), (t, None)), 2 * m.bias)
    ratio = erfc_ratio(p, p.product((t, None), (m.const(ROOT2[0]), m.const(ROOT2[1]))))
    return p.product(p.product(e, ratio), (half, None)), n, shifted
