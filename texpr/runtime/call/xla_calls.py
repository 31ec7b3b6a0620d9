"""Kernels as typed FFI calls of XLA: records of kernels for the handler of `xla_ffi.c`.

The handler is native code: a call takes no GIL and no Python.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from struct import pack

import numpy as np

from texpr.runtime.call import sorting, value_checks
from texpr.runtime.call.spec import Argument, CallSpec, Check, DistinctCheck, RangeCheck, extent_value
from texpr.runtime.native import jit, native_library
from texpr.support.errors import ResourceError

_TYPES = {
    "bool": 1,
    **{f"int{8 << k}": 2 + k for k in range(4)},
    **{f"uint{8 << k}": 6 + k for k in range(4)},
    **{f"float{16 << k}": 10 + k for k in range(3)},
    "bfloat16": 16,
    "float8_e5m2": 19,
    "float8_e4m3fn": 20,
}
"""XLA's numbers of element types (`XLA_FFI_DataType`), by the names that NumPy and ml_dtypes have."""
_EXPORTS = ("tx_xla_handler", "tx_xla_add")
_kept: dict[int, object] = {}


def handler() -> int:
    """The address of the XLA_FFI_Handler of all kernels."""
    with jit.lock:
        return _library()["tx_xla_handler"]


def add_kernel(number: int, entry: int, spec: CallSpec, keep: object = None) -> None:
    """Let the handler run a kernel where the attribute of a call is `number`, from now on until the
    process ends; a number that is known already is left as it is.

    Args:
        entry: `i32 entry(ptr slots)`.
        spec: with numbers for all extents and sizes.
        keep: kept alive, such as the `Loaded` that owns the code.
    Raises:
        ResourceError: there is no memory.
    """
    with jit.lock:
        if number in _kept:
            return
        texts = _Texts()
        words = ctypes.create_string_buffer(_pack(number, entry, spec, texts))
        add = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(_library()["tx_xla_add"])
        if add(ctypes.addressof(words)):
            raise ResourceError(f"{spec.name}: no memory for another kernel")
        _kept[number] = words, texts, keep


class _Texts:
    """Texts that native code reads."""

    def __init__(self) -> None:
        self._kept: list[ctypes.Array] = []

    def __call__(self, text: str) -> int:
        self._kept.append(ctypes.create_string_buffer(text.encode()))
        return ctypes.addressof(self._kept[-1])


def _pack(number: int, entry: int, spec: CallSpec, texts: Callable[[str], int]) -> bytes:
    """An XlaKernel of `xla_ffi.c`."""
    words = [number, entry, texts(spec.name), len(spec.inputs), len(spec.outputs), len(spec.sizes)]
    words.append(len(spec.checks))
    for check in spec.checks:
        words += _check(check, spec.inputs, texts)
    words += [extent_value(size, {}) for size in spec.sizes]
    for argument in spec.arguments:
        extents = [extent_value(e, {}) for e in argument.shape]
        words += [_TYPES[argument.bits_of or argument.dtype.name], len(extents), *extents]
    return pack(f"{len(words)}q", *words)


def _check(check: Check, inputs: Sequence[Argument], texts: Callable[[str], int]) -> list[int]:
    """A Check of `xla_ffi.c`."""
    assert isinstance(check, RangeCheck | DistinctCheck), check
    argument = inputs[check.position]
    count = int(np.prod([extent_value(e, {}) for e in argument.shape], dtype=np.int64))
    item, kind = argument.dtype.itemsize, argument.dtype.kind
    short = f"{kind}{8 * item}"
    front = [check.position, count * item, item, kind == "i"]
    name = texts(check.name)
    if isinstance(check, RangeCheck):
        lo, hi = extent_value(check.lo, {}), extent_value(check.hi, {})
        return [*front, value_checks.range_check(short), lo, hi, 0, name, texts(f"{lo}..{hi}")]
    row, argsort = extent_value(check.row, {}), sorting.address("argsort", short)
    return [*front, value_checks.distinct_check(short), row, 0, argsort, name, texts("")]


@functools.cache
def _library() -> jit.Library:
    code = native_library.compiled(native_library.source("xla_ffi"), jit.compile_text)
    library = jit.link(code, _EXPORTS, native_library.symbols())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return library
