"""Reference values in longdouble, which has 64 bits of precision on the machines these tests
need.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

WIDE = np.longdouble


def sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def erf(x: np.ndarray) -> np.ndarray:
    """2/sqrt(pi) exp(-x^2) x (1 + 2x^2/3 (1 + 2x^2/5 (...))): no cancellation."""
    a = np.minimum(np.abs(x), WIDE(6.5))
    total = term = np.ones_like(a)
    for k in range(1, 170):
        term = term * (2 * a * a / (2 * k + 1))
        total = total + term
    root_pi = np.sqrt(4 * np.arctan(WIDE(1)))
    return np.copysign(2 / root_pi * np.exp(-a * a) * a * total, x)


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf below 1; above, exp(-x^2) by the continued fraction 1 / (x + 1/2 / (x + 1 / (x +
    3/2 / ...))).
    """
    a = np.clip(np.abs(x), WIDE(1), WIDE(30))
    tail = a
    for k in range(600, 0, -1):
        tail = a + WIDE(k) / 2 / tail
    high = a.astype(np.float32).astype(WIDE)
    far = np.exp(-high * high) * np.exp((high - a) * (high + a)) / np.sqrt(4 * np.arctan(WIDE(1))) / tail
    far = np.where(x < 0, 2 - far, np.where(np.abs(x) > 30, 0, far))
    return np.where(np.isnan(x), x, np.where(np.abs(x) < 1, 1 - erf(x), far))


def gelu(x: np.ndarray) -> np.ndarray:
    """x/2 erfc(-x / sqrt(2)), by the slope of erfc with what rounding the quotient lost; at
    infinities the limit.
    """
    inside = np.clip(x, -40, 40)
    root = math.isqrt(2 << 200)  # times 2^-100
    first = WIDE(np.float32(np.sqrt(2)))
    rest = WIDE(root - int(first * 2.0**30) * 2**70) * WIDE(2) ** -100
    quotient = -inside / np.sqrt(WIDE(2))
    high = quotient.astype(np.float32).astype(WIDE)
    lost = (-inside - high * first - (quotient - high) * first - quotient * rest) / np.sqrt(WIDE(2))
    part = erfc(quotient) - np.exp(-quotient * quotient) * lost / np.sqrt(np.arctan(WIDE(1)))
    return np.where(np.abs(x) > 40, np.maximum(x, WIDE(-0.0)), inside / 2 * part)


REFERENCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "log10": np.log10,
    "erfc": erfc,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "erf": erf,
    "gelu": gelu,
}
