"""A product and a sum that are rounded once: `a * b + c` exactly, to the nearest number of a
type, ties to even.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from texpr.support.late import late

if TYPE_CHECKING:
    import fractions
else:
    fractions = late("fractions")


def fused_to_odd(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c` of numbers of f32, rounded to odd in f64: a second rounding, to f32 or fewer
    bits, is then as good as one.

    Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms
    using rounding to odd, 2008.
    """
    product = a * b  # exact: 48 bits, and far inside the exponents of f64
    total = product + c
    back = total - product
    lost = (product - (total - back)) + (c - back)  # Knuth's sum of two: exact
    bits = total.view(np.int64)
    away = np.where((lost > 0) == (total > 0), 1, -1)  # the neighbour on the side of what was lost
    odd = np.where((lost != 0) & (bits & 1 == 0), bits + away, bits)
    return np.where(np.isfinite(total), odd.view(np.float64), total)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c` of numbers of f64, rounded once."""
    return np.asarray(np.frompyfunc(_fused, 3, 1)(a, b, c), np.float64)


def _fused(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    if a == 0 or b == 0:
        return a * b + c  # the signs of zeros are those of the sum
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    try:
        return exact.numerator / exact.denominator  # Python rounds the quotient of whole numbers once
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
