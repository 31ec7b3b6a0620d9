"""Conversions between element types."""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, I64, DType
from texpr.ir.expr import Expr
from texpr.targets.emit.float_conversion import narrowed, of_integer, widened
from texpr.targets.emit.function import Value, constant, register_type, vector_type
from texpr.targets.emit.value_builder import ValueBuilder


class Casts(ValueBuilder):
    """Adds conversions; targets override those that they have instructions for."""

    def cast(self, a: Value, t: DType) -> Value:
        """Conversion as the language has it: saturating from floats, wrapping between integers."""
        s = a.dtype
        if s == t:
            return a
        if s.as_bits:
            return self.cast(widened(self._pure, a), t)
        to = vector_type(register_type(t), a.lanes)
        if t == BOOL:
            word = "fcmp une" if s.is_float else "icmp ne"
            return self._pure(f"{word} {a}, {constant(0, s, a.lanes).text}", BOOL, a.lanes)
        if s.is_float and t.is_int:
            if s.bits == 16:  # exact; with AVX512-FP16, LLVM's own conversion of an f16 NaN is not 0
                return self.cast(self.cast(a, DType("f", 32)), t)
            return self.float_to_int(a, t)
        if s.is_float:
            if s.bits == t.bits:
                return self.cast(self.cast(a, DType("f", 32)), t)
            return (
                self._pure(f"fpext {a} to {to}", t, a.lanes) if t.bits > s.bits else self.truncate_float(a, t)
            )
        if t.as_bits:
            return of_integer(self._pure, a, t)
        if t.is_float:
            return self._pure(
                f"{'sitofp' if s.is_signed and s != BOOL else 'uitofp'} {a} to {to}", t, a.lanes
            )
        if s != BOOL and s.bits == t.bits:
            return Value(a.text, t, a.lanes)
        word = "trunc" if s != BOOL and t.bits < s.bits else "sext" if s.is_signed and s != BOOL else "zext"
        return self._pure(f"{word} {a} to {to}", t, a.lanes)

    def truncate_float(self, a: Value, t: DType) -> Value:
        """A float as one of a narrower type."""
        return narrowed(self._pure, a, t)

    def float_to_int(self, a: Value, t: DType) -> Value:
        """An f32 or f64 as an integer: towards zero, saturating, 0 for NaN."""
        sign = "s" if t.is_signed else "u"
        name = f"llvm.fpto{sign}i.sat.{self.suffix(Value('', t, a.lanes))}.{self.suffix(a)}"
        return Value(self.intrinsic(name, vector_type(register_type(t), a.lanes), str(a)), t, a.lanes)

    def index(self, e: Expr) -> Value:
        """An index expression, as i64."""
        return self.cast(self.value(e), I64)
