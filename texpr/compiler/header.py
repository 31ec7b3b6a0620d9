"""A C header for saved object code."""

from __future__ import annotations

from texpr.ir.extern import extern_symbol
from texpr.ir.loop import ExternCall, Kernel
from texpr.targets import symbol_of

_C = {"bool": "uint8_t", "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double"}


def c_header(kernel: Kernel) -> str:
    """Declares `int32_t texpr_NAME(void **slots)` and says what the slots are."""
    slots = [f"const {_c(t.dtype.name)} *{t.name}" for t in kernel.inputs] + [f"{_c(t.dtype.name)} *{t.name}" for t in kernel.outputs]
    slots += [f"int64_t {v.name}" for v in kernel.sizes]
    guard = f"TEXPR_{kernel.name.upper()}_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", "#ifdef __cplusplus", 'extern "C" {', "#endif",
             "/* slots, 8 bytes each:", *(f" *   {k}: {slot}" for k, slot in enumerate(slots)), " * returns 0, or 2 when out of memory */",
             f"int32_t {symbol_of(kernel.name)}(void **slots);", *_externs(kernel), "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def _externs(kernel: Kernel) -> list[str]:
    """Prototypes of what the object calls and does not contain: arrays, then the extents of each, outermost first."""
    calls = {extern_symbol(s): s for s in kernel.body if isinstance(s, ExternCall)}
    return [line for name, call in calls.items() for line in (f"/* to be linked: computes `{call.name}`; returns 0, or 2 on failure */",
                                                            f"int32_t {name}({_parameters(call)});")]


def _parameters(call: ExternCall) -> str:
    arrays = [f"const {_c(t.dtype.name)} *{t.name}" for t in call.inputs] + [f"{_c(t.dtype.name)} *{t.name}" for t in call.outputs]
    return ", ".join(arrays + [f"int64_t {t.name}_{k}" for t in (*call.inputs, *call.outputs) for k in range(t.rank)])


def _c(dtype: str) -> str:
    return _C.get(dtype) or f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}_t"
