"""NVIDIA's GPUs, through the driver's own interface.

The package `cuda-bindings` is used where it is installed, else the driver's library itself. The
primary context of a device is used, which other libraries of the process share, and by default the
stream that they use as well, so that work on the same memory is in order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from texpr.runtime.gpu.driver_api import BoxMap, Code, Extents, Facts, OutOfMemory
from texpr.runtime.gpu.driver_library import Library
from texpr.runtime.gpu.maps import tensor_map
from texpr.support.errors import CompileError, ResourceError
from texpr.support.frozen_dataclass import frozen

OLDEST_DRIVER = 12000
"""The version of CUDA that a driver must be of, as it counts them."""

_CUDA_DEVICE = 2  # DLPack's kDLCUDA
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_LOG, _LOG_BYTES, _LOG_ROOM = 5, 6, 8192  # CU_JIT_ERROR_LOG_BUFFER, its size
_NON_BLOCKING, _THREAD_LOCAL = 1, 1  # CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
_NOT_READY = "CUDA_ERROR_NOT_READY"
_OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
_REFUSED_CODE = (
    "CUDA_ERROR_INVALID_PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_SOURCE",
    "CUDA_ERROR_INVALID_IMAGE",
)
_TOO_MUCH = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
_BROKEN = (
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
)
_WITHOUT = (
    'compile with a GPU target and look at kernel.ptx, or use the device "emulated", where threads are '
    "fibers of the CPU"
)
_INSTALL = f"install NVIDIA's driver (nvidia-smi shows it); without a GPU, {_WITHOUT}"


@cache
def api() -> Any:
    """The driver's functions, ready.

    Raises:
        ResourceError: there is no driver, it is too old, or it finds no device.
    """
    try:
        from cuda.bindings import driver as found
    except ImportError:
        found = None
    try:
        functions: Any = Library() if found is None else found
        status = functions.cuInit(0)[0]
    except Exception as error:  # the package raises classes of its own where the driver's library is missing
        raise ResourceError(f"there is no NVIDIA driver: {error}", code="gpu", help=_INSTALL) from None
    version = _answer(functions, "cuDriverGetVersion", functions.cuDriverGetVersion())
    if int(status):
        raise ResourceError(
            f"there is no GPU that the NVIDIA driver can use: {_name(functions, status)}",
            code="gpu",
            notes=(f"the driver is of CUDA {_version(version)}",),
            help=_INSTALL,
        )
    if version < OLDEST_DRIVER:
        raise ResourceError(
            f"the NVIDIA driver is of CUDA {_version(version)}, and {_version(OLDEST_DRIVER)} is needed",
            code="gpu",
            help=f"install a newer driver; without one, {_WITHOUT}",
        )
    if not _answer(functions, "cuDeviceGetCount", functions.cuDeviceGetCount()):
        raise ResourceError("the NVIDIA driver finds no GPU", code="gpu", help="look at CUDA_VISIBLE_DEVICES")
    return functions


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _name(functions: Any, status: Any) -> str:
    return _text(functions.cuGetErrorName(status)[1])


def _answer(functions: Any, function: str, answer: tuple) -> Any:
    """The result of a call, or a tuple of several, or None."""
    status, *values = answer
    if int(status):
        raise _complaint(functions, function, status)
    return values[0] if len(values) == 1 else tuple(values) or None


def _complaint(functions: Any, function: str, status: Any) -> Exception:
    """The exception for a status."""
    name = _name(functions, status)
    if name == _OUT_OF_MEMORY:
        return OutOfMemory()
    if name in _REFUSED_CODE:
        return CompileError(
            f"the GPU's driver does not take this code: {name}",
            code="target",
            help="compile for the processor of this device",
        )
    if name == _TOO_MUCH or function == "cuFuncSetAttribute":
        return CompileError(
            "a block of threads needs more registers or shared memory than the GPU has",
            code="target",
            help="bind fewer threads, or use smaller tiles",
        )
    text = f"{function}: {name}, {_text(functions.cuGetErrorString(status)[1])}"
    if name in _BROKEN:
        return AssertionError(f"{text}: a kernel failed, and what follows on this device does too")
    return AssertionError(text)


@frozen
class _Module:
    handle: Any


@frozen
class _Parameters:
    """Words, pointers to them, and the address of these pointers, which is what a launch takes."""

    words: tuple[Any, ...]
    pointers: ctypes.Array
    address: int


class NvidiaDriver:
    """One GPU.

    Args:
        ordinal: which, counted from 0.
        functions: of the driver, for tests.
    Raises:
        ResourceError: there is no such GPU.
    """

    def __init__(self, ordinal: int = 0, functions: Any = None) -> None:
        self._api = functions if functions is not None else api()
        count = self._ask("cuDeviceGetCount")
        if ordinal >= count:
            raise ResourceError(
                f"there is no GPU {ordinal}: this machine has {count}, counted from 0",
                code="gpu",
                help="look at CUDA_VISIBLE_DEVICES",
            )
        device = self._ask("cuDeviceGet", ordinal)
        attribute = self._api.CUdevice_attribute
        major, minor = (self._ask("cuDeviceGetAttribute", attribute(a), device) for a in (_MAJOR, _MINOR))
        name = _text(self._ask("cuDeviceGetName", 256, device)).partition("\0")[
            0
        ]  # the package gives the whole buffer
        driver = f"CUDA {_version(self._ask('cuDriverGetVersion'))}"
        memory = int(self._ask("cuDeviceTotalMem", device))
        self.facts = Facts(name, (int(major), int(minor)), memory, driver, (_CUDA_DEVICE, ordinal), True)
        self._context = self._ask("cuDevicePrimaryCtxRetain", device)

    def _ask(self, function: str, *arguments: object) -> Any:
        return _answer(self._api, function, getattr(self._api, function)(*arguments))

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Let the thread's calls go to this device."""
        self._ask("cuCtxPushCurrent", self._context)
        try:
            yield
        finally:
            self._ask("cuCtxPopCurrent")

    def _here(self, function: str, *arguments: object) -> Any:
        with self._current():
            return self._ask(function, *arguments)

    # Memory.

    def allocate(self, size: int) -> int:
        """Memory from the driver, which aligns it."""
        return int(self._here("cuMemAlloc", size))

    def free(self, address: int) -> None:
        """Give memory back; the driver waits for all work."""
        self._here("cuMemFree", address)

    def memory(self) -> tuple[int, int]:
        """Free bytes and all bytes."""
        free, total = self._here("cuMemGetInfo")
        return int(free), int(total)

    def to_device(self, address: int, source: np.ndarray, stream: int) -> None:
        """Queue a copy. The driver has taken pageable memory when it returns; what is larger
        than its buffers it waits for.
        """
        self._here("cuMemcpyHtoDAsync", address, source.ctypes.data, source.nbytes, stream)

    def to_host(self, target: np.ndarray, address: int, stream: int) -> None:
        """Copy and wait."""
        with self._current():
            self._ask("cuMemcpyDtoHAsync", target.ctypes.data, address, target.nbytes, stream)
            self._ask("cuStreamSynchronize", stream)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Queue a copy on the device."""
        self._here("cuMemcpyDtoDAsync", target, source, size, stream)

    def fill(self, address: int, byte: int, size: int, stream: int) -> None:
        """Queue setting bytes."""
        self._here("cuMemsetD8Async", address, byte, size, stream)

    # Streams and events.

    def make_stream(self) -> int:
        """A stream that does not wait for the default one."""
        return int(self._here("cuStreamCreate", _NON_BLOCKING))

    def end_stream(self, stream: int) -> None:
        """Forget a stream; its work goes on."""
        self._here("cuStreamDestroy", stream)

    def synchronize(self, stream: int | None) -> None:
        """Wait."""
        if stream is None:
            self._here("cuCtxSynchronize")
        else:
            self._here("cuStreamSynchronize", stream)

    def make_event(self) -> int:
        """An event that knows its time."""
        return int(self._here("cuEventCreate", 0))

    def end_event(self, event: int) -> None:
        """Forget an event."""
        self._here("cuEventDestroy", event)

    def record(self, event: int, stream: int) -> None:
        """Queue reaching an event."""
        self._here("cuEventRecord", event, stream)

    def wait(self, stream: int, event: int) -> None:
        """Queue waiting for an event."""
        self._here("cuStreamWaitEvent", stream, event, 0)

    def reached(self, event: int) -> bool:
        """True if an event is reached."""
        with self._current():
            answer = self._api.cuEventQuery(event)
        if int(answer[0]) and _name(self._api, answer[0]) == _NOT_READY:
            return False
        _answer(self._api, "cuEventQuery", answer)
        return True

    def milliseconds(self, start: int, end: int) -> float:
        """The time between two events."""
        with self._current():
            self._ask("cuEventSynchronize", start)
            self._ask("cuEventSynchronize", end)
            return float(self._ask("cuEventElapsedTime", start, end))

    # Code.

    def load(self, code: Code) -> _Module:
        """PTX, which the driver compiles, or a cubin.

        Raises:
            CompileError: the driver does not take it; with what it says.
        """
        log, option = bytearray(_LOG_ROOM), self._api.CUjit_option
        names, values = [option(_LOG), option(_LOG_BYTES)], [log, _LOG_ROOM]
        with self._current():
            answer = self._api.cuLibraryLoadData(
                code.assembly().encode() + b"\0", names, values, 2, [], [], 0
            )
        try:
            return _Module(_answer(self._api, "cuLibraryLoadData", answer))
        except CompileError as error:
            error.notes = (*error.notes, *log.partition(b"\0")[0].decode(errors="replace").splitlines()[:10])
            raise

    def function(self, module: _Module, symbol: str, shared: int = 0) -> Any:
        """A kernel of a module. Only what was asked for may be given to blocks beyond 48 KiB."""
        with self._current():
            kernel = self._ask("cuLibraryGetKernel", module.handle, symbol.encode())
            function = self._ask("cuKernelGetFunction", kernel)
            if shared:
                self._ask(
                    "cuFuncSetAttribute", function, self._api.CUfunction_attribute(_DYNAMIC_SHARED), shared
                )
            return function

    def parameters(
        self, addresses: Sequence[int], sizes: Sequence[int], maps: Sequence[BoxMap] = ()
    ) -> _Parameters:
        """The arguments of kernels."""
        words = (*(ctypes.c_uint64(a) for a in addresses), *(ctypes.c_int64(n) for n in sizes))
        made = tuple(
            self._here("cuTensorMapEncodeTiled", *tensor_map(self._api, addresses[m[0]], m)) for m in maps
        )
        places = (*map(ctypes.addressof, words), *(int(m.getPtr()) for m in made))
        pointers = (ctypes.c_void_p * max(len(places), 1))(*places)
        return _Parameters((*words, *made), pointers, ctypes.addressof(pointers))

    def launch(
        self,
        function: Any,
        grid: Extents,
        block: Extents,
        parameters: _Parameters,
        stream: int,
        shared: int = 0,
    ) -> None:
        """Queue a kernel."""
        self._here("cuLaunchKernel", function, *grid, *block, shared, stream, parameters.address, 0)

    # Graphs.

    def begin_capture(self) -> int:
        """A stream whose work is written down."""
        with self._current():
            stream = self._ask("cuStreamCreate", _NON_BLOCKING)
            self._ask("cuStreamBeginCapture", stream, self._api.CUstreamCaptureMode(_THREAD_LOCAL))
            return int(stream)

    def end_capture(self, stream: int) -> Any:
        """The recorded work, ready to launch."""
        with self._current():
            try:
                graph = self._ask("cuStreamEndCapture", stream)
            finally:
                self._ask("cuStreamDestroy", stream)
            try:
                return self._ask("cuGraphInstantiate", graph, 0)
            finally:
                self._ask("cuGraphDestroy", graph)

    def launch_graph(self, graph: Any, stream: int) -> None:
        """Queue all of it."""
        self._here("cuGraphLaunch", graph, stream)

    def end_graph(self, graph: Any) -> None:
        """Forget it."""
        self._here("cuGraphExecDestroy", graph)
