"""Native orders of rows: argsort by radix, the largest elements, and places in ordered rows.

Their source is `sorting.c` in `runtime.native`. All functions have the signature of extern operators.
"""

from __future__ import annotations

import ctypes
import functools

from texpr.runtime.native import jit, native_library

DTYPES = (
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8e4m3",
    "f8e5m2",
)
FUNCTIONS = ("argsort", "argsort_down", "top", "search", "search_right")


def address(function: str, dtype: str) -> int:
    """Address of one of `FUNCTIONS` for a dtype, compiled when the first one is asked for."""
    with jit.lock:
        return _library()[f"tx_{function}_{dtype}"]


@functools.cache
def _library() -> jit.Library:
    code = native_library.compiled(native_library.source("sorting"), jit.compile_text)
    names = tuple(f"tx_{function}_{dtype}" for function in FUNCTIONS for dtype in DTYPES)
    library = jit.link(code, names, native_library.symbols())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return library
