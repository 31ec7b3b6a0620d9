"""Transcendental functions as expressions of the scalar language, so that every target computes the same bits with the same code.

`expand_math` is the pass. `arithmetic` has the primitives, `coefficients` the polynomials (written by `scripts/fit_polynomials.py`), the
other modules one family of functions each. Error bounds, over all numbers: 1.5 ulp for f32 and 2 ulp for f64; the limits of sin and cos
in f64 are stated in `trigonometric`. Results are right at infinities, NaN and zeros of both signs, and denormal numbers are kept.
A fused multiply-add that rounds once is assumed; f16 and bf16 are cast to f32 before.
"""

from texpr.passes.math.arithmetic import FROM_BITS, SCALE, TO_BITS
from texpr.passes.math.expand import EXPANSIONS, expand_math

__all__ = ["EXPANSIONS", "FROM_BITS", "SCALE", "TO_BITS", "expand_math"]
