"""erf: x + x Q(x^2) below 1; above, 1 - u^4 with a polynomial u for the fourth root of 1 - erf, whose error u^4 makes small."""

from __future__ import annotations

from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr
from texpr.passes.math.arithmetic import Arithmetic
from texpr.passes.math.coefficients import ERF_F32, ERF_F64, ERFC_F32, ERFC_F64


def erf(m: Arithmetic, x: Expr) -> Expr:
    """Both polynomials, one selected."""
    inner, tail, centre, end = (ERF_F32, ERFC_F32, 2.0, 3.93) if m.real == F32 else (ERF_F64, ERFC_F64, 3.0, 5.95)
    magnitude = m.at_most(m.call("abs", x), end)
    square = m.mul(magnitude, magnitude)
    near = m.fma(magnitude, m.polynomial(square, inner), magnitude)
    root = m.polynomial(m.sub(magnitude, centre), tail)
    root2 = m.mul(root, root)
    far = m.fma(m.neg(root2), root2, 1.0)
    return m.with_sign_of(m.select(m.compare("<", magnitude, 1.0), near, far), x)
