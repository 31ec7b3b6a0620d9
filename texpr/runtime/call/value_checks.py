"""Native checks of the values of integer arrays: each is compiled when the first array of its dtype
is checked.

Their source is `value_checks.c` in `runtime.native`.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import re

import numpy as np

from texpr.runtime.native import jit, native_library

DTYPES = tuple(f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64))
"""The integer dtypes, in short."""


def text(check: str, dtype: str, machine: str = platform.machine()) -> str:
    """LLVM IR of a check, `range` or `distinct`, of a dtype such as `i32`. The other checks become
    internal, so that LLVM drops them."""
    others = rf"(?m)^define (?!.*@tx_{check}_{dtype}\()(.*@tx_(range|distinct)_)"
    return re.sub(others, r"define internal \1", native_library.source("value_checks", machine))


def range_check(dtype: str) -> int:
    """Address of `i1 check(ptr data, i64 bytes, i64 lo, i64 hi)`: whether all elements are in
    `lo..hi`.
    """
    return _linked("range", dtype)[f"tx_range_{dtype}"]


def distinct_check(dtype: str) -> int:
    """Address of `i1 check(ptr data, i64 bytes, i64 row, i64)`: whether all values of each row, so
    many elements, are seen once; false also where sorting has to tell."""
    return _linked("distinct", dtype)[f"tx_distinct_{dtype}"]


def all_distinct(array: np.ndarray, row: int) -> bool:
    """The same of a contiguous integer array in native byte order."""
    check = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 4)(
        distinct_check(f"{array.dtype.kind}{8 * array.itemsize}")
    )
    return bool(check(array.ctypes.data, array.nbytes, row, 0))


def _linked(check: str, dtype: str) -> jit.Library:
    with jit.lock:
        return _library(check, dtype)


@functools.cache
def _library(check: str, dtype: str) -> jit.Library:
    code = native_library.compiled(text(check, dtype), jit.compile_text)
    library = jit.link(code, (f"tx_{check}_{dtype}",), native_library.symbols())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return library
