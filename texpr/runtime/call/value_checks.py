"""Native checks of the values of integer arrays: each is compiled when the first array of its dtype is checked.

Their sources are `ranges.ll` and `distinct.ll` beside this file.
"""

from __future__ import annotations

import ctypes
import functools
from string import Template

import llvmlite.binding as llvm
import numpy as np

from texpr.runtime.native import jit
from texpr.runtime.native import library as native

DTYPES = tuple(f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64))
"""The integer dtypes, in short."""


def text(part: str, dtype: str) -> str:
    """LLVM IR of a check, `ranges` or `distinct`, of values of a dtype such as `i32`. Elements of 64 bits are compared as they are: no
    bound is above 2^63.
    """
    element = f"i{dtype[1:]}"
    sign = "signed" if dtype[0] == "i" else "unsigned"

    def widened(value: str) -> str:
        return f"add i64 {value}, 0" if element == "i64" else f"{'sext' if dtype[0] == 'i' else 'zext'} {element} {value} to i64"

    words = {"NAME": dtype, "TYPE": element, "SIGN": sign, "EXTEND": widened("%element"), "AGAIN": widened("%again.element")}
    return Template(native.source(part)).substitute(words) + "\nattributes #0 = { nounwind }\n"


def range_check(dtype: str) -> int:
    """Address of `i1 check(ptr data, i64 bytes, i64 lo, i64 hi)`: whether all elements are in `lo..hi`."""
    return _linked("ranges", "range", dtype)[f"tx_range_{dtype}"]


def distinct_check(dtype: str) -> int:
    """Address of `i1 check(ptr data, i64 bytes, i64 row, i64)`: whether all values of each row, so many elements, are seen once; false also
    where sorting has to tell."""
    return _linked("distinct", "distinct", dtype)[f"tx_distinct_{dtype}"]


def all_distinct(array: np.ndarray, row: int) -> bool:
    """The same of a contiguous integer array in native byte order."""
    check = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 4)(distinct_check(f"{array.dtype.kind}{8 * array.itemsize}"))
    return bool(check(array.ctypes.data, array.nbytes, row, 0))


def _linked(part: str, name: str, dtype: str) -> llvm.ResourceTracker:
    with jit.lock:
        return _library(part, name, dtype)


@functools.cache
def _library(part: str, name: str, dtype: str) -> llvm.ResourceTracker:
    library = jit.link(native.compiled(text(part, dtype), jit.compile_text), (f"tx_{name}_{dtype}",), native.symbols())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return library
