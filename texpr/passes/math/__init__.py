"""Transcendental functions as expressions of the scalar language, so that every target computes the same bits with the same code.

`expand_math` is the pass. `arithmetic` has the primitives, `coefficients` the polynomials (written by `scripts/fit_polynomials.py`), the
other modules one family of functions each. Results are right at infinities, NaN and zeros of both signs, and denormal numbers are kept.
A fused multiply-add that rounds once is assumed; f16 and bf16 are cast to f32 before.

Error bounds, over all numbers: 1.5 ulp for f32 and 2 ulp for f64, kept by tests; x^4 as two products is within 2 ulp, and the limits of sin
and cos in f64 are stated in `trigonometric`. Of f32, `scripts/check_ulp.py` tries every number; f64 is sampled. The largest errors in ulp:

           exp  exp2 expm1  log  log2 log1p rsqrt  sin  cos  tanh sigmoid  erf  pow
    f32   0.93  0.88  1.24 0.92  0.98  1.02  1.49 0.51 0.52  1.37    1.11 1.46 0.54
    f64   0.90  0.79  1.27 0.88  1.54  0.92  1.50 1.67 1.71  1.62    1.13 1.81 0.89
"""

from texpr.passes.math.arithmetic import FROM_BITS, SCALE, TO_BITS
from texpr.passes.math.expand import EXPANSIONS, expand_math

__all__ = ["EXPANSIONS", "FROM_BITS", "SCALE", "TO_BITS", "expand_math"]
