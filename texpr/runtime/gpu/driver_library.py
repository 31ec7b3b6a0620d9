"""The driver's C library through ctypes, where the package `cuda-bindings` is not installed: the
same names, arguments and answers.

A function takes its inputs and gives a tuple of the status and its results, as in
`cuda.bindings.driver`. Only what `nvidia.py` calls is here, with the symbols of CUDA 12.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

_KINDS: dict[str, Any] = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "q": ctypes.c_uint64,
    "p": ctypes.c_void_p,
    "f": ctypes.c_float,
    "s": ctypes.c_char_p,
}

# By name: the symbol, and the parameters in C's order; those in capitals are results that the
# caller has room for.
_FUNCTIONS = {
    "cuInit": ("cuInit", "u"),
    "cuDriverGetVersion": ("cuDriverGetVersion", "I"),
    "cuGetErrorName": ("cuGetErrorName", "iS"),
    "cuGetErrorString": ("cuGetErrorString", "iS"),
    "cuDeviceGetCount": ("cuDeviceGetCount", "I"),
    "cuDeviceGet": ("cuDeviceGet", "Ii"),
    "cuDeviceGetAttribute": ("cuDeviceGetAttribute", "Iii"),
    "cuDeviceTotalMem": ("cuDeviceTotalMem_v2", "Qi"),
    "cuDevicePrimaryCtxRetain": ("cuDevicePrimaryCtxRetain", "Pi"),
    "cuCtxPushCurrent": ("cuCtxPushCurrent_v2", "p"),
    "cuCtxPopCurrent": ("cuCtxPopCurrent_v2", "P"),
    "cuCtxSynchronize": ("cuCtxSynchronize", ""),
    "cuMemAlloc": ("cuMemAlloc_v2", "Qq"),
    "cuMemFree": ("cuMemFree_v2", "q"),
    "cuMemGetInfo": ("cuMemGetInfo_v2", "QQ"),
    "cuMemcpyHtoDAsync": ("cuMemcpyHtoDAsync_v2", "qpqp"),
    "cuMemcpyDtoHAsync": ("cuMemcpyDtoHAsync_v2", "pqqp"),
    "cuMemcpyDtoDAsync": ("cuMemcpyDtoDAsync_v2", "qqqp"),
    "cuMemsetD8Async": ("cuMemsetD8Async", "qiqp"),
    "cuStreamCreate": ("cuStreamCreate", "Pu"),
    "cuStreamDestroy": ("cuStreamDestroy_v2", "p"),
    "cuStreamSynchronize": ("cuStreamSynchronize", "p"),
    "cuStreamWaitEvent": ("cuStreamWaitEvent", "ppu"),
    "cuEventCreate": ("cuEventCreate", "Pu"),
    "cuEventDestroy": ("cuEventDestroy_v2", "p"),
    "cuEventRecord": ("cuEventRecord", "pp"),
    "cuEventQuery": ("cuEventQuery", "p"),
    "cuEventSynchronize": ("cuEventSynchronize", "p"),
    "cuEventElapsedTime": ("cuEventElapsedTime", "Fpp"),
    "cuLibraryGetKernel": ("cuLibraryGetKernel", "Pps"),
    "cuKernelGetFunction": ("cuKernelGetFunction", "Pp"),
    "cuFuncSetAttribute": ("cuFuncSetAttribute", "pii"),
    "cuLaunchKernel": ("cuLaunchKernel", "puuuuuuuppp"),
    "cuStreamBeginCapture": ("cuStreamBeginCapture_v2", "pi"),
    "cuStreamEndCapture": ("cuStreamEndCapture", "pP"),
    "cuGraphInstantiate": ("cuGraphInstantiateWithFlags", "Ppq"),
    "cuGraphLaunch": ("cuGraphLaunch", "pp"),
    "cuGraphExecDestroy": ("cuGraphExecDestroy", "p"),
    "cuGraphDestroy": ("cuGraphDestroy", "p"),
}


class TensorMap:
    """128 bytes that begin at a multiple of 64."""

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(192)

    def getPtr(self) -> int:
        """The address."""
        start = ctypes.addressof(self._room)
        return start + -start % 64


class Library:
    """The functions of the driver's library.

    Args:
        library: loaded by ctypes; `libcuda.so.1` unless given.
    Raises:
        OSError: the library is not there.
    """

    CUdevice_attribute = CUfunction_attribute = CUstreamCaptureMode = CUjit_option = staticmethod(int)
    CUtensorMapDataType = CUtensorMapInterleave = CUtensorMapSwizzle = CUtensorMapL2promotion = (
        CUtensorMapFloatOOBfill
    ) = staticmethod(int)
    cuuint64_t = cuuint32_t = staticmethod(int)
    """Numbers serve as the enumerations that the package has."""

    def __init__(self, library: Any = None) -> None:
        self._library = ctypes.CDLL("libcuda.so.1") if library is None else library

    def __getattr__(self, name: str) -> Callable[..., tuple]:
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        symbol, parameters = _FUNCTIONS[name]
        found = _wrapped(getattr(self._library, symbol), parameters)
        setattr(self, name, found)
        return found

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        """The name of a device."""
        text = ctypes.create_string_buffer(length)
        return int(
            self._library.cuDeviceGetName(text, ctypes.c_int(length), ctypes.c_int(device))
        ), text.value

    def cuTensorMapEncodeTiled(
        self,
        dtype: int,
        rank: int,
        address: int,
        shape: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        steps: Sequence[int],
        *ways: int,
    ) -> tuple[int, TensorMap]:
        """A tensor map."""
        made = TensorMap()
        status = self._library.cuTensorMapEncodeTiled(
            ctypes.c_void_p(made.getPtr()),
            ctypes.c_int(dtype),
            ctypes.c_uint(rank),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*shape),
            (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
            (ctypes.c_uint32 * rank)(*box),
            (ctypes.c_uint32 * rank)(*steps),
            *map(ctypes.c_int, ways),
        )
        return int(status), made

    def cuLibraryLoadData(
        self, code: bytes, options: Sequence[int], values: Sequence[object], count: int, *_: object
    ) -> tuple[int, int]:
        """Code as a library. The values of options are buffers of bytes, and numbers."""
        handle = ctypes.c_void_p()
        names = (ctypes.c_int * count)(*options)
        buffers = [(ctypes.c_char * len(v)).from_buffer(v) if isinstance(v, bytearray) else v for v in values]
        words = (ctypes.c_void_p * count)(
            *(b if isinstance(b, int) else ctypes.addressof(b) for b in buffers)  # type: ignore[arg-type]
        )
        status = self._library.cuLibraryLoadData(
            ctypes.byref(handle),
            ctypes.c_char_p(code),
            names,
            words,
            ctypes.c_uint(count),
            None,
            None,
            ctypes.c_uint(0),
        )
        return int(status), handle.value or 0


def _wrapped(function: Any, parameters: str) -> Callable[..., tuple]:
    """A function of inputs that gives the status and the results."""

    def call(*arguments: Any) -> tuple:
        given = iter(arguments)
        results = [_KINDS[p.lower()]() for p in parameters if p.isupper()]
        rest = iter(results)
        passed = [ctypes.byref(next(rest)) if p.isupper() else _KINDS[p](next(given)) for p in parameters]
        return int(function(*passed)), *(r.value or 0 for r in results)

    return call
