"""Calls of functions of elements that LLVM has, by instructions or intrinsics."""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Call
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value, constant, register_type, vector_type
from texpr.targets.emit.value_builder import ValueBuilder

_ONE_TO_ONE = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "roundeven",
    "fma": "fma",
}
_BITS = {"bit_and": "and", "bit_or": "or", "bit_xor": "xor"}


class ScalarFunctions(ValueBuilder):
    """Adds calls; other functions are expanded by passes."""

    def _call(self, e: Call) -> Value:
        args = self._unify_lanes(*(self.value(a) for a in e.args))
        a = args[0]
        match e.function:
            case "abs" if a.dtype.is_int:
                if not a.dtype.is_signed:
                    return a
                return Value(
                    self.intrinsic(f"llvm.abs.{self.suffix(a)}", a.type, str(a), "i1 false"), a.dtype, a.lanes
                )
            case "abs":
                return Value(self.intrinsic(f"llvm.fabs.{self.suffix(a)}", a.type, str(a)), a.dtype, a.lanes)
            case "isnan":
                return self._pure(f"fcmp uno {a}, {a.text}", BOOL, a.lanes)
            case "isinf":
                size = self.intrinsic(f"llvm.fabs.{self.suffix(a)}", a.type, str(a))
                return self._pure(
                    f"fcmp oeq {a.type} {size}, {constant(float('inf'), a.dtype, a.lanes).text}",
                    BOOL,
                    a.lanes,
                )
            case "to_bits" | "from_bits":
                return self._pure(
                    f"bitcast {a} to {vector_type(register_type(e.dtype), a.lanes)}", e.dtype, a.lanes
                )
            case "mulhi":
                return self._upper_half(a, args[1])
            case "shl" | "shr":
                return self._shift(e, *args)
            case name if name in _BITS:
                return self._pure(f"{_BITS[name]} {a}, {args[1].text}", a.dtype, a.lanes)
            case name if name in _ONE_TO_ONE:
                return Value(
                    self.intrinsic(f"llvm.{_ONE_TO_ONE[name]}.{self.suffix(a)}", a.type, *map(str, args)),
                    a.dtype,
                    a.lanes,
                )
        raise CompileError(f"{e.function} of {a.dtype} is not compiled yet", e.span, code="target")

    def _upper_half(self, a: Value, b: Value) -> Value:
        """The upper half of the product at twice the width."""
        narrow, wide = a.type, vector_type(f"i{2 * a.dtype.bits}", a.lanes)
        extend, f = "sext" if a.dtype.is_signed else "zext", self.function
        x, y = (f.define(f"{extend} {v} to {wide}") for v in (a, b))
        product = f.define(f"mul {wide} {x}, {y}")
        amount = f"splat (i{2 * a.dtype.bits} {a.dtype.bits})" if a.lanes else str(a.dtype.bits)
        return self._pure(
            f"trunc {wide} {f.define(f'lshr {wide} {product}, {amount}')} to {narrow}", a.dtype, a.lanes
        )

    def _shift(self, e: Call, a: Value, by: Value) -> Value:
        """A shift: by the width or more it gives 0, or the sign."""
        arithmetic = e.function == "shr" and a.dtype.is_signed
        word = "shl" if e.function == "shl" else "ashr" if arithmetic else "lshr"
        amount = integer(e.args[1])
        if amount is not None and 0 <= amount < a.dtype.bits:
            return self._pure(f"{word} {a}, {by.text}", a.dtype, a.lanes)
        width = constant(a.dtype.bits, a.dtype, a.lanes)
        inside = self._pure(f"icmp ult {by}, {width.text}", BOOL, a.lanes)
        over = constant(0, a.dtype, a.lanes)
        if arithmetic:
            over = self._pure(
                f"ashr {a}, {constant(a.dtype.bits - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes
            )
        shifted = self._pure(
            f"{word} {a}, {self.select(inside, by, constant(0, a.dtype, a.lanes)).text}", a.dtype, a.lanes
        )
        return self.select(inside, shifted, over)
