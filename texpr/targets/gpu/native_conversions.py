"""What GPUs have an instruction for: numbers of f32 rounded to what tensor cores take, one of tf32, two of bf16; powers of 2.

Source: PTX ISA 8.0, 9.7.3.21 (ex2), 9.7.9.21 (cvt), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from texpr.ir.dtypes import BF16
from texpr.targets.emit.function import Value, register_type, vector_type

if TYPE_CHECKING:
    from texpr.targets.gpu.emitter import GpuEmitter

ROUND = "llvm.nvvm.f2tf32.rna"
POWER = "llvm.nvvm.ex2.approx.ftz.f32"
ONE, TWO = "llvm.nvvm.f2bf16.rn", "llvm.nvvm.ff2bf16x2.rn"
"""To nearest, ties to even. Of two numbers the first becomes the upper half."""


def power(emitter: GpuEmitter, x: Value) -> Value:
    """2^x of an f32, in each lane: within 2^-22 of it, 0 below the normal numbers."""
    return _in_lanes(emitter, x, lambda one: emitter.intrinsic(POWER, "float", f"float {one}"))


def _in_lanes(emitter: GpuEmitter, x: Value, instruction: Callable[[str], str]) -> Value:
    """An instruction that makes one f32 of one, for each lane."""
    f = emitter.function
    if not x.lanes:
        return Value(instruction(x.text), x.dtype)
    result = "poison"
    for k in range(x.lanes):
        one = instruction(f.define(f"extractelement {x}, i64 {k}"))
        result = f.define(f"insertelement {x.type} {result}, float {one}, i64 {k}")
    return Value(result, x.dtype, x.lanes)


def rounded(emitter: GpuEmitter, x: Value) -> Value:
    """`tf32(x)`, in each lane."""
    def instruction(one: str) -> str:
        return emitter.function.define(f"bitcast i32 {emitter.intrinsic(ROUND, 'i32', f'float {one}')} to float")

    return _in_lanes(emitter, x, instruction)


def halved(emitter: GpuEmitter, x: Value) -> Value:
    """An f32 as bf16, in each lane; a NaN is 0x7fff."""
    f = emitter.function
    if x.lanes % 2 or not x.lanes:
        return _each_halved(emitter, x)
    words, result = f"<{x.lanes // 2} x i32>", "poison"
    for k in range(x.lanes // 2):
        low, high = (f.define(f"extractelement {x}, i64 {2 * k + b}") for b in range(2))
        pair = emitter.intrinsic(TWO, "<2 x bfloat>", f"float {high}", f"float {low}")
        result = f.define(f"insertelement {words} {result}, i32 {f.define(f'bitcast <2 x bfloat> {pair} to i32')}, i64 {k}")
    return Value(f.define(f"bitcast {words} {result} to {vector_type(register_type(BF16), x.lanes)}"), BF16, x.lanes)


def _each_halved(emitter: GpuEmitter, x: Value) -> Value:
    f = emitter.function
    if not x.lanes:
        return Value(f.define(f"bitcast bfloat {emitter.intrinsic(ONE, 'bfloat', str(x))} to i16"), BF16)
    t, result = vector_type(register_type(BF16), x.lanes), "poison"
    for k in range(x.lanes):
        one = emitter.intrinsic(ONE, "bfloat", f"float {f.define(f'extractelement {x}, i64 {k}')}")
        result = f.define(f"insertelement {t} {result}, i16 {f.define(f'bitcast bfloat {one} to i16')}, i64 {k}")
    return Value(result, BF16, x.lanes)
