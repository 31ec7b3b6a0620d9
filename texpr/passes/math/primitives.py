"""The primitives that expansions are made of, for one float type: thin constructors that take
numbers as operands too.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64, I32, I64, DType, numpy_dtype
from texpr.ir.expr import Add, Call, Cast, Compare, Const, Div, Expr, Mul, Neg, Select, Sub
from texpr.support.frozen_dataclass import frozen

TO_BITS, FROM_BITS, SCALE, RARELY = "to_bits", "from_bits", "scale", "rarely"
Operand = Expr | float | int


@frozen
class Arithmetic:
    """Operations on floats of type `real` and on integers of the same width.

    No sum has a product as operand: what could be fused is fused already, so a kernel's `fma`
    changes nothing here.

    Attributes:
        mantissa: bits of the fraction.
        bias: of the exponent.
        native: functions the target has an instruction for; of the internal ones only `scale`.
    """

    real: DType
    integer: DType
    mantissa: int
    bias: int
    native: frozenset[str] = frozenset()

    @property
    def magic(self) -> float:
        """1.5 * 2^mantissa: adding it rounds to an integer, which then stands in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def one_bits(self) -> int:
        return self.bias << self.mantissa

    def const(self, value: Operand) -> Expr:
        if isinstance(value, Expr):
            return value
        return Const(float(numpy_dtype(self.real).type(value)), dtype=self.real)

    def whole(self, value: Operand) -> Expr:
        """An integer literal."""
        return value if isinstance(value, Expr) else literal(value, self.integer)

    def add(self, a: Operand, b: Operand) -> Expr:
        return Add(self.const(a), self.const(b))

    def sub(self, a: Operand, b: Operand) -> Expr:
        return Sub(self.const(a), self.const(b))

    def mul(self, a: Operand, b: Operand) -> Expr:
        return Mul(self.const(a), self.const(b))

    def div(self, a: Operand, b: Operand) -> Expr:
        return Div(self.const(a), self.const(b))

    def fma(self, a: Operand, b: Operand, c: Operand) -> Expr:
        """a * b + c, rounded once."""
        return Call("fma", (self.const(a), self.const(b), self.const(c)))

    def neg(self, a: Expr) -> Expr:
        return Neg(a)

    def call(self, function: str, a: Expr) -> Expr:
        return Call(function, (a,))

    def compare(self, op: str, a: Operand, b: Operand) -> Expr:
        return Compare(op, self.const(a), self.const(b))

    def select(self, cond: Expr, a: Operand, b: Operand) -> Expr:
        return Select(cond, self.const(a), self.const(b))

    def odd(self, i: Expr) -> Expr:
        """True if the lowest bit of an integer is set."""
        return Compare("!=", self.bitwise("bit_and", i, 1), self.whole(0))

    def rarely(self, cond: Expr, a: Expr, b: Expr) -> Expr:
        """`a` where the condition holds, computed only if it holds somewhere."""
        return Call(RARELY, (cond, a, b), dtype=self.real)

    def at_least(self, x: Expr, bound: float) -> Expr:
        """`bound` where x is below it; NaN stays."""
        return self.select(self.compare("<", x, bound), bound, x)

    def at_most(self, x: Expr, bound: float) -> Expr:
        """`bound` where x is above it; NaN stays."""
        return self.select(self.compare(">", x, bound), bound, x)

    def polynomial(self, x: Expr, coefficients: Sequence[float]) -> Expr:
        """Lowest power first, by Horner's rule."""
        result = self.const(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def bits(self, x: Expr) -> Expr:
        """The bits of a float as an integer."""
        return Call(TO_BITS, (x,), dtype=self.integer)

    def from_bits(self, i: Expr) -> Expr:
        """The float with these bits."""
        return Call(FROM_BITS, (i,), dtype=self.real)

    def whole_add(self, a: Operand, b: Operand) -> Expr:
        return Add(self.whole(a), self.whole(b))

    def whole_sub(self, a: Operand, b: Operand) -> Expr:
        return Sub(self.whole(a), self.whole(b))

    def whole_select(self, cond: Expr, a: Operand, b: Operand) -> Expr:
        return Select(cond, self.whole(a), self.whole(b))

    def bitwise(self, function: str, a: Expr, b: Operand) -> Expr:
        """`bit_and bit_or bit_xor shl shr` of integers."""
        return Call(function, (a, self.whole(b)))

    def nearest(self, x: Operand, factor: Operand, offset: int) -> tuple[Expr, Expr]:
        """`x * factor` rounded to an integer n: as a float, and as a float whose low bits are n
        + offset.
        """
        magic = self.magic + offset
        shifted = self.fma(x, factor, magic)
        return self.sub(shifted, magic), shifted

    def from_exponent(self, shifted: Expr) -> Expr:
        """2^(low bits - bias) of a `shifted` of `nearest`; its other bits leave at the top."""
        return self.from_bits(self.bitwise("shl", self.bits(shifted), self.mantissa))

    def scale(self, p: Expr, n: Expr, shifted: Expr) -> Expr:
        """p * 2^n rounded once, for p near 1 and every n a result needs, out to zero and infinity.
        The offset is 2 * bias.

        Two factors of 2^(n/2), of which the first gives an exact product.
        """
        if SCALE in self.native:
            return Call(SCALE, (p, n))
        field = self.bitwise("shl", self.bits(shifted), self.mantissa)
        half = self.bitwise(
            "bit_and", self.bitwise("shl", self.bits(shifted), self.mantissa - 1), -1 << self.mantissa
        )
        return self.mul(self.mul(p, self.from_bits(half)), self.from_bits(self.whole_sub(field, half)))

    def with_sign_of(self, positive: Expr, x: Expr) -> Expr:
        """`positive`, which has no sign yet, with the sign of x."""
        sign = self.bitwise("bit_and", self.bits(x), -1 << (self.real.bits - 1))
        return self.from_bits(self.bitwise("bit_or", self.bits(positive), sign))

    def cast(self, x: Expr, dtype: DType) -> Expr:
        return Cast(x, dtype=dtype)


SINGLE = Arithmetic(F32, I32, 23, 127)
DOUBLE = Arithmetic(F64, I64, 52, 1023)
