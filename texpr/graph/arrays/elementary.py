"""Scalar functions as methods of tensors. Integers become floats first, as in NumPy; error
bounds are in `docs/reference/language.md`.
"""

from __future__ import annotations

from typing import Self

from texpr.graph.arrays import array_functions
from texpr.graph.arrays.recorded import recorded
from texpr.ir.dtypes import BOOL


class Elementary:
    """Functions of each element."""

    __slots__ = ()

    @recorded
    def exp(self) -> Self:
        """e^x."""
        return array_functions.elementary("exp", self)

    @recorded
    def exp2(self) -> Self:
        """2^x."""
        return array_functions.elementary("exp2", self)

    @recorded
    def expm1(self) -> Self:
        """e^x - 1."""
        return array_functions.elementary("expm1", self)

    @recorded
    def log(self) -> Self:
        """The natural logarithm."""
        return array_functions.elementary("log", self)

    @recorded
    def log2(self) -> Self:
        """The logarithm to base 2."""
        return array_functions.elementary("log2", self)

    @recorded
    def log10(self) -> Self:
        """The logarithm to base 10."""
        return array_functions.elementary("log10", self)

    @recorded
    def log1p(self) -> Self:
        """log(1 + x)."""
        return array_functions.elementary("log1p", self)

    @recorded
    def sqrt(self) -> Self:
        """The square root."""
        return array_functions.elementary("sqrt", self)

    @recorded
    def rsqrt(self) -> Self:
        """1 over the square root."""
        return array_functions.elementary("rsqrt", self)

    @recorded
    def sin(self) -> Self:
        """The sine."""
        return array_functions.elementary("sin", self)

    @recorded
    def cos(self) -> Self:
        """The cosine."""
        return array_functions.elementary("cos", self)

    @recorded
    def tan(self) -> Self:
        """The tangent."""
        return array_functions.elementary("tan", self)

    @recorded
    def arcsin(self) -> Self:
        """The angle in -pi/2 to pi/2 whose sine is x."""
        return array_functions.elementary("asin", self)

    @recorded
    def arccos(self) -> Self:
        """The angle in 0 to pi whose cosine is x."""
        return array_functions.elementary("acos", self)

    @recorded
    def arctan(self) -> Self:
        """The angle in -pi/2 to pi/2 whose tangent is x."""
        return array_functions.elementary("atan", self)

    @recorded
    def arcsinh(self) -> Self:
        """The number whose hyperbolic sine is x."""
        return array_functions.elementary("asinh", self)

    @recorded
    def arccosh(self) -> Self:
        """The number whose hyperbolic cosine is x."""
        return array_functions.elementary("acosh", self)

    @recorded
    def arctanh(self) -> Self:
        """The number whose hyperbolic tangent is x."""
        return array_functions.elementary("atanh", self)

    asin, acos, atan, asinh, acosh, atanh = arcsin, arccos, arctan, arcsinh, arccosh, arctanh

    @recorded
    def cbrt(self) -> Self:
        """The cube root."""
        return array_functions.elementary("cbrt", self)

    @recorded
    def signbit(self) -> Self:
        """True for numbers below 0, -0.0 among them."""
        if not self.dtype.is_float:  # type: ignore[attr-defined]
            return self < 0  # type: ignore[operator]
        return array_functions.elementwise("signbit", "copysign(1, {0}) < 0", (self,), None, BOOL)

    @recorded
    def sinh(self) -> Self:
        """The hyperbolic sine."""
        return array_functions.elementary("sinh", self)

    @recorded
    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        return array_functions.elementary("cosh", self)

    @recorded
    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return array_functions.elementary("tanh", self)

    @recorded
    def erf(self) -> Self:
        """The error function."""
        return array_functions.elementary("erf", self)

    @recorded
    def sigmoid(self) -> Self:
        """1 / (1 + e^-x)."""
        return array_functions.elementary("sigmoid", self)

    @recorded
    def silu(self) -> Self:
        """x sigmoid(x)."""
        return array_functions.elementary("silu", self, "{0} * sigmoid({0})")

    @recorded
    def gelu(self) -> Self:
        """x times the normal distribution function."""
        return array_functions.elementary("gelu", self)
