"""Conversions and functions with an instruction of GPUs: numbers of f32 rounded to operands of
tensor cores, one of tf32, two of bf16; powers of 2.

Source: PTX ISA 8.0, 9.7.3.21 (ex2), 9.7.9.21 (cvt), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.dtypes import BF16, F32, DType
from texpr.ir.expr import Call
from texpr.targets.emit.expressions import Expressions
from texpr.targets.emit.function import Value, register_type, vector_type

ROUND = "llvm.nvvm.f2tf32.rna"
POWER = "llvm.nvvm.ex2.approx.ftz.f32"
ONE, TWO = "llvm.nvvm.f2bf16.rn", "llvm.nvvm.ff2bf16x2.rn"
"""Conversions to nearest, ties to even. Of two numbers the first becomes the upper half."""


class NativeConversions(Expressions):
    """Uses these instructions for the calls and casts that they compute.

    Attributes:
        converts_natively: the processor rounds to tf32 and bf16.
    """

    converts_natively = False

    def _call(self, e: Call) -> Value:
        if e.function == "tf32":
            return tf32(self, self.value(e.args[0]))
        return (
            exp2(self, self.value(e.args[0])) if e.function == "exp2" and e.dtype == F32 else super()._call(e)
        )

    def truncate_float(self, a: Value, t: DType) -> Value:
        return (
            bf16(self, a)
            if self.converts_natively and (a.dtype, t) == (F32, BF16)
            else super().truncate_float(a, t)
        )


def exp2(emitter: Expressions, x: Value) -> Value:
    """2^x of an f32, in each lane: within 2^-22 of it, 0 below the normal numbers."""
    return _in_lanes(emitter, x, lambda one: emitter.intrinsic(POWER, "float", f"float {one}"))


def _in_lanes(emitter: Expressions, x: Value, instruction: Callable[[str], str]) -> Value:
    """An instruction that makes one f32 of one, for each lane."""
    f = emitter.function
    if not x.lanes:
        return Value(instruction(x.text), x.dtype)
    result = "poison"
    for k in range(x.lanes):
        one = instruction(f.define(f"extractelement {x}, i64 {k}"))
        result = f.define(f"insertelement {x.type} {result}, float {one}, i64 {k}")
    return Value(result, x.dtype, x.lanes)


def tf32(emitter: Expressions, x: Value) -> Value:
    """`tf32(x)`, in each lane."""

    def instruction(one: str) -> str:
        return emitter.function.define(
            f"bitcast i32 {emitter.intrinsic(ROUND, 'i32', f'float {one}')} to float"
        )

    return _in_lanes(emitter, x, instruction)


def bf16(emitter: Expressions, x: Value) -> Value:
    """An f32 as bf16, in each lane; a NaN is 0x7fff."""
    f = emitter.function
    if x.lanes % 2 or not x.lanes:
        return _bf16_by_lane(emitter, x)
    words, result = f"<{x.lanes // 2} x i32>", "poison"
    for k in range(x.lanes // 2):
        low, high = (f.define(f"extractelement {x}, i64 {2 * k + b}") for b in range(2))
        pair = emitter.intrinsic(TWO, "<2 x bfloat>", f"float {high}", f"float {low}")
        result = f.define(
            f"insertelement {words} {result}, i32 {f.define(f'bitcast <2 x bfloat> {pair} to i32')}, i64 {k}"
        )
    return Value(
        f.define(f"bitcast {words} {result} to {vector_type(register_type(BF16), x.lanes)}"), BF16, x.lanes
    )


def _bf16_by_lane(emitter: Expressions, x: Value) -> Value:
    f = emitter.function
    if not x.lanes:
        return Value(f.define(f"bitcast bfloat {emitter.intrinsic(ONE, 'bfloat', str(x))} to i16"), BF16)
    t, result = vector_type(register_type(BF16), x.lanes), "poison"
    for k in range(x.lanes):
        one = emitter.intrinsic(ONE, "bfloat", f"float {f.define(f'extractelement {x}, i64 {k}')}")
        result = f.define(
            f"insertelement {t} {result}, i16 {f.define(f'bitcast bfloat {one} to i16')}, i64 {k}"
        )
    return Value(result, BF16, x.lanes)
