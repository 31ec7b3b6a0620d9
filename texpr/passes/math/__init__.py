"""Transcendental functions as expressions of the scalar language, so that every target computes the
same bits with the same code.

`expand_math` is the pass. `primitives` has the primitives, `coefficients` the polynomials (written
by `scripts/fit_polynomials.py`), the other modules one family of functions each, `double_double`
sums of two numbers where one is not enough. Results are right at infinities, NaN and zeros of both
signs, and denormal numbers are kept. Where a machine has no fused multiply-add, `fma_emulation`
gives the same bits; f16 and bf16 are cast to f32 before.

Error bounds, over all numbers: 1.5 ulp for f32 and 2 ulp for f64, kept by tests; x^4 as two
products is within 2 ulp. Of f32, `scripts/check_ulp.py` tries every number; f64 is sampled. The
largest errors in ulp:

           exp  exp2 expm1  log  log2 log1p rsqrt  sin  cos  tanh sigmoid  erf  pow
    f32   0.93  0.88  1.24 0.92  0.98  1.02  1.49 0.51 0.52  1.37    1.11 1.46 0.54
    f64   0.90  0.79  1.27 0.88  1.54  0.92  1.50 1.67 1.71  1.62    1.13 1.81 0.89

           tan  asin  acos  atan atan2  sinh  cosh asinh acosh atanh cbrt hypot log10 erfc gelu
    f32   0.51  0.51  0.51  0.51  0.51  0.53  0.53  0.51  0.51  0.51 0.51  0.51  0.51 0.54 0.93
    f64   0.73  0.60  0.60  0.70  0.96  0.69  0.87  1.00  0.60  1.00 0.51  0.60  0.51 1.05 1.22

`lgamma gamma digamma trigamma erfinv` (`SPECIAL`; all but erfinv in f64) are within 1 ulp for f32.
For f64 they are within 5, 8, 24, 5 and 4 ulp, but for zeros of lgamma and digamma (an absolute
4e-15) and negative arguments (1e-13 of the larger of the result and 1); all sampled.

A product with a sigmoid that nothing else of its statement uses is one quotient
(`sigmoid_products`), within 2.5 ulp.

f32 functions of the second table are computed in f64 and rounded once, gelu above 0 twice. `fmod`,
`//` and `%` of floats, `copysign` and `round` are exact as NumPy has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.passes.math.expand import BINARY, EXPANSIONS, SPECIAL, expand_math
    from texpr.passes.math.primitives import FROM_BITS, SCALE, TO_BITS

__all__ = ["BINARY", "EXPANSIONS", "FROM_BITS", "SCALE", "SPECIAL", "TO_BITS", "expand_math"]

offer_late(__name__)
