"""Numbers of f32 rounded for tensor cores, on GPUs that have those: one instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.targets.function import Value

if TYPE_CHECKING:
    from texpr.targets.gpu import GpuEmitter

ROUND = "llvm.nvvm.f2tf32.rna"


def rounded(emitter: GpuEmitter, x: Value) -> Value:
    """`tf32(x)`, in each lane."""
    f = emitter.function
    if not x.lanes:
        return Value(f.define(f"bitcast i32 {emitter.intrinsic(ROUND, 'i32', str(x))} to float"), x.dtype)
    result = "poison"
    for k in range(x.lanes):
        word = emitter.intrinsic(ROUND, "i32", f"float {f.define(f'extractelement {x}, i64 {k}')}")
        one = f.define(f"bitcast i32 {word} to float")
        result = f.define(f"insertelement {x.type} {result}, float {one}, i64 {k}")
    return Value(result, x.dtype, x.lanes)
