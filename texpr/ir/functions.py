"""The scalar functions of the language: one table with arity, result type and reference meaning.

The reference is what the interpreter computes: in f64, rounded once to the operand's type. Compiled
code must stay within the stated bound of it (`passes/math.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from texpr.ir.fused import fused
from texpr.support.frozen_dataclass import frozen


@frozen
class Function:
    """A scalar function: `domain` is `float`, `int` or `num`; `result` is `same` or `bool`."""

    name: str
    arity: int
    domain: str
    reference: Callable[..., np.ndarray]
    result: str = "same"


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""Bernoulli's numbers of even order, from 2 on."""


ROOT2 = (1.4142135381698608, 2.420323420895794e-08)
"""The root of 2: 24 bits, and 53 of the rest."""


def _elementwise(f: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return np.vectorize(f, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _gelu(x: np.ndarray) -> np.ndarray:
    """x/2 erfc(-x / sqrt(2)), and by the slope of erfc what the quotient lost: far below 0 that
    counts x^2 times.
    """
    inside = np.clip(x, -39, 39)
    quotient = -inside / math.sqrt(2)
    high = quotient.astype(np.float32).astype(np.float64)
    low = quotient - high
    lost = (-inside - high * ROOT2[0] - low * ROOT2[0] - quotient * ROOT2[1]) / math.sqrt(2)
    part = _elementwise(math.erfc)(quotient) - 2 / math.sqrt(math.pi) * np.exp(-quotient * quotient) * lost
    return np.where(np.abs(x) > 39, np.maximum(x, -0.0), inside / 2 * part)


def _lgamma(x: float) -> float:
    try:
        return math.inf if x == -math.inf or x <= 0 and x == math.floor(x) else math.lgamma(x)
    except OverflowError:
        return math.inf


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or x < 0 and x == math.floor(x):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf  # below 0 that is next to 0 only


def _digamma(x: float) -> float:
    """Recurrence up to 10, then the asymptotic series (Abramowitz and Stegun, 6.3.5, 6.3.7,
    6.3.18).
    """
    if x == 0:
        return math.copysign(math.inf, -x)
    if math.isinf(x) or x < 0 and x == math.floor(x):
        return x if x > 0 else math.nan
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    less = 0.0
    while x < 10:
        less, x = less + 1 / x, x + 1
    square = 1 / (x * x)
    terms = 0.0
    for b in (-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12):
        terms = b + square * terms
    return math.log(x) - 0.5 / x + square * terms - less


def _trigamma(x: float) -> float:
    """Recurrence up to 12, then the asymptotic series (Abramowitz and Stegun, 6.4.6, 6.4.7,
    6.4.12).
    """
    if x == -math.inf or math.isnan(x):
        return math.nan
    if x <= 0 and x == math.floor(x):
        return math.inf
    if x < 0:
        return (math.pi / math.sin(math.pi * (x - round(x)))) ** 2 - _trigamma(1 - x)
    more = 0.0
    while x < 12:
        more, x = more + 1 / x / x, x + 1
    square, terms = 1 / x / x, 0.0
    for b in reversed(BERNOULLI):
        terms = square * (b + terms)
    return (1 + 0.5 / x + terms) / x + more


def _erfinv(x: float) -> float:
    """Halley's steps for what is left of 1 where that is exact, from the start of Winitzki, A
    Handy Approximation, 2008.
    """
    a = abs(x)
    if not a < 1:
        return math.copysign(math.inf, x) if a == 1 else math.nan
    logarithm = math.log1p(-a * a) if a < 0.5 else math.log((1 - a) * (1 + a))
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    y = (
        math.sqrt(math.sqrt(middle * middle - logarithm / 0.147) - middle)
        if a > 1e-3
        else a * math.sqrt(math.pi) / 2
    )
    for _ in range(4):
        error = math.erf(y) - a if a < 0.5 else 1 - a - math.erfc(y)
        step = error * math.exp(y * y) * math.sqrt(math.pi) / 2
        y -= step / (1 + y * step)
    return math.copysign(y, x)


def _tf32(x: np.ndarray) -> np.ndarray:
    """To 10 bits of fraction and the exponents of f32, halves away from 0."""
    size, last = np.abs(x), np.maximum(np.frexp(x)[1], -125) - 11
    near = np.ldexp(np.trunc(np.ldexp(np.where(np.isfinite(x), size, 0), -last) + 0.5), last)
    return np.copysign(np.where(np.isfinite(x), np.where(near < 2.0**128, near, np.inf), size), x)


def _sign(x: np.ndarray) -> np.ndarray:
    return np.sign(x).astype(x.dtype)


def _shift(left: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def shift(x: np.ndarray, by: np.ndarray) -> np.ndarray:
        bits = x.dtype.itemsize * 8
        inside = (by >= 0) & (by < bits)
        amount = np.where(inside, by, 0).astype(x.dtype)
        if left:
            return np.where(inside, np.left_shift(x, amount), 0).astype(x.dtype)
        over = np.where(x < 0, -1, 0) if x.dtype.kind == "i" else np.zeros_like(x)
        return np.where(inside, np.right_shift(x, amount), over).astype(x.dtype)

    return shift


def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The upper half of the exact product."""
    bits = x.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{x.dtype.kind}{bits // 4}")
        return ((x.astype(wide) * y.astype(wide)) >> wide.type(bits)).astype(x.dtype)
    low, half = x.dtype.type(0xFFFFFFFF), x.dtype.type(32)
    x_high, x_low, y_high, y_low = x >> half, x & low, y >> half, y & low
    # The product of the low halves is unsigned whatever the type is.
    carry = ((x_low.astype(np.uint64) * y_low.astype(np.uint64)) >> np.uint64(32)).astype(x.dtype)
    middle = x_high * y_low + carry
    return x_high * y_high + (middle >> half) + ((x_low * y_high + (middle & low)) >> half)


FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        Function("exp", 1, "float", np.exp),
        Function("exp2", 1, "float", np.exp2),
        Function("expm1", 1, "float", np.expm1),
        Function("log", 1, "float", np.log),
        Function("log2", 1, "float", np.log2),
        Function("log10", 1, "float", np.log10),
        Function("log1p", 1, "float", np.log1p),
        Function("sqrt", 1, "float", np.sqrt),
        Function("cbrt", 1, "float", np.cbrt),
        Function("hypot", 2, "float", np.hypot),
        Function("rsqrt", 1, "float", lambda x: 1 / np.sqrt(x)),
        Function("sin", 1, "float", np.sin),
        Function("cos", 1, "float", np.cos),
        Function("tan", 1, "float", np.tan),
        Function("asin", 1, "float", np.arcsin),
        Function("acos", 1, "float", np.arccos),
        Function("atan", 1, "float", np.arctan),
        Function("atan2", 2, "float", np.arctan2),
        Function("sinh", 1, "float", np.sinh),
        Function("cosh", 1, "float", np.cosh),
        Function("asinh", 1, "float", np.arcsinh),
        Function("acosh", 1, "float", np.arccosh),
        Function("atanh", 1, "float", np.arctanh),
        Function("tanh", 1, "float", np.tanh),
        Function("sigmoid", 1, "float", _sigmoid),
        Function("erf", 1, "float", _elementwise(math.erf)),
        Function("erfc", 1, "float", _elementwise(math.erfc)),
        Function("gelu", 1, "float", _gelu),
        Function("lgamma", 1, "float", _elementwise(_lgamma)),
        Function("gamma", 1, "float", _elementwise(_gamma)),
        Function("digamma", 1, "float", _elementwise(_digamma)),
        Function("trigamma", 1, "float", _elementwise(_trigamma)),
        Function("erfinv", 1, "float", _elementwise(_erfinv)),
        Function("floor", 1, "float", np.floor),
        Function("ceil", 1, "float", np.ceil),
        Function("trunc", 1, "float", np.trunc),
        Function("rint", 1, "float", np.rint),
        Function("round", 1, "float", np.rint),
        Function("fmod", 2, "float", np.fmod),
        Function("copysign", 2, "float", np.copysign),
        Function("abs", 1, "num", np.abs),
        Function("sign", 1, "num", _sign),
        Function("isnan", 1, "float", np.isnan, "bool"),
        Function("isinf", 1, "float", np.isinf, "bool"),
        Function("isfinite", 1, "float", np.isfinite, "bool"),
        Function("tf32", 1, "float", _tf32),
        Function("fma", 3, "float", fused),
        Function("detach", 1, "float", np.positive),
        Function("with_slope", 3, "float", lambda y, x, slope: np.broadcast_arrays(y, x, slope)[0]),
        Function("bit_and", 2, "int", np.bitwise_and),
        Function("bit_or", 2, "int", np.bitwise_or),
        Function("bit_xor", 2, "int", np.bitwise_xor),
        Function("mulhi", 2, "int", _mulhi),
        Function("shl", 2, "int", _shift(True)),
        Function("shr", 2, "int", _shift(False)),
    )
}

PRIMITIVES = {"to_bits": 1, "from_bits": 1, "scale": 2, "rarely": 3}
"""Functions of code generators beside arithmetic, with arity. Only expanded kernels have them: a
float's bits, bits as a float, x * 2^n for a whole number n given as a float, and a choice whose
first side is not computed where no lane needs it.
"""
