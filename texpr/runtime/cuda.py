"""PTX on an NVIDIA GPU, through the driver's own interface (the optional package `cuda-bindings`).

The first device's primary context is used, which other libraries of the process share. Launches of one call run in order on one
stream.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from texpr.support.errors import CompileError, ResourceError

Extents = tuple[int, int, int]
_INSTALL = 'install the extra "cuda12" or "cuda13" (pip install "texpr[cuda13]") and a driver'
_OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
_REFUSED_CODE = ("CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_NO_BINARY_FOR_GPU",
                 "CUDA_ERROR_INVALID_SOURCE", "CUDA_ERROR_INVALID_IMAGE")


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A GPU.

    Attributes:
        name: its processor, such as `sm_86`.
        api: the module of the driver's functions.
    """

    name: str
    api: Any
    _context: Any

    def ask(self, function: str, *arguments: object) -> Any:
        """Call a function of the driver; its result, or a tuple of several, or None.

        Raises:
            ResourceError: the device is out of memory.
            CompileError: the device does not take the code.
        """
        return _checked(self.api, function, getattr(self.api, function)(*arguments), self.name)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this device the one that the thread's calls go to."""
        self.ask("cuCtxPushCurrent", self._context)
        try:
            yield
        finally:
            self.ask("cuCtxPopCurrent")


def _checked(api: Any, function: str, answer: tuple, device: str) -> Any:
    status, *values = answer
    if int(status):
        name = status.name
        if name == _OUT_OF_MEMORY:
            raise ResourceError(f"the GPU has not enough memory ({function})", code="memory")
        if name in _REFUSED_CODE:
            raise CompileError(f"{device} does not take this code: {name}", code="target", help=f'compile for {device} (target="{device}")')
        text = api.cuGetErrorString(status)[1]
        raise AssertionError(f"{function}: {name}, {text.decode() if isinstance(text, bytes) else text}")
    return values[0] if len(values) == 1 else tuple(values) or None


@cache
def device() -> Device:
    """The first GPU of this machine.

    Raises:
        ResourceError: there is none, or no driver, or the package is not installed.
    """
    try:
        from cuda.bindings import driver
    except ImportError:
        raise ResourceError("the package cuda-bindings is not installed: GPU code runs through it", code="gpu", help=_INSTALL) from None
    try:
        status = driver.cuInit(0)[0]
    except Exception as error:  # the package raises classes of its own where the driver's library is missing
        raise ResourceError(f"there is no NVIDIA driver: {error}", code="gpu", help=_INSTALL) from None
    if int(status) or not _checked(driver, "cuDeviceGetCount", driver.cuDeviceGetCount(), ""):
        raise ResourceError(f"there is no GPU that the NVIDIA driver can use ({status.name})", code="gpu")
    handle = _checked(driver, "cuDeviceGet", driver.cuDeviceGet(0), "")
    attributes = driver.CUdevice_attribute
    which = (attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    major, minor = (_checked(driver, "cuDeviceGetAttribute", driver.cuDeviceGetAttribute(a, handle), "") for a in which)
    context = _checked(driver, "cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(handle), "")
    return Device(f"sm_{major}{minor}", driver, context)


def missing() -> str:
    """Why code for GPUs cannot run here; empty if it can."""
    try:
        device()
    except ResourceError as error:
        return error.message
    return ""


class Module:
    """Kernels that were loaded into the device."""

    def __init__(self, text: str) -> None:
        self._device = device()
        self._functions: dict[str, Any] = {}
        self._lock = threading.Lock()
        with self._device.current():
            self._handle = self._device.ask("cuModuleLoadData", text.encode() + b"\0")

    def _function(self, symbol: str) -> Any:
        with self._lock:
            if symbol not in self._functions:
                self._functions[symbol] = self._device.ask("cuModuleGetFunction", self._handle, symbol.encode())
            return self._functions[symbol]

    def launch(self, launches: Sequence[tuple[str, Extents, Extents]], addresses: Sequence[int], sizes: Sequence[int],
               stream: int = 0) -> None:
        """Queue launches on a stream, without waiting for them.

        Args:
            launches: symbol, grid and block of each.
            addresses: device memory of inputs, outputs and scratch buffers.
            sizes: the symbolic sizes.
        """
        words = [ctypes.c_uint64(a) for a in addresses] + [ctypes.c_int64(n) for n in sizes]
        parameters = (ctypes.c_void_p * max(len(words), 1))(*map(ctypes.addressof, words))
        with self._device.current():
            for symbol, grid, block in launches:
                self._device.ask("cuLaunchKernel", self._function(symbol), *grid, *block, 0, stream, ctypes.addressof(parameters), 0)


@lru_cache(maxsize=64)
def load(text: str) -> Module:
    """Load PTX.

    Raises:
        ResourceError: there is no GPU here.
        CompileError: the GPU does not take the code.
    """
    return Module(text)


def run(text: str, launches: Sequence[tuple[str, Extents, Extents]], inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray],
        scratch: Sequence[int], sizes: Sequence[int]) -> None:
    """Copy inputs to the device, run the launches, and copy the outputs back into `outputs`. All arrays are contiguous.

    Args:
        text: PTX; every kernel takes inputs, outputs, scratch buffers and sizes.
        launches: symbol, grid and block of each.
        scratch: bytes of each buffer that launches pass to each other.
    Raises:
        ResourceError: there is no GPU here, or it has not enough memory.
        CompileError: the GPU does not take the code.
    """
    for array in (*inputs, *outputs):
        assert array.flags.c_contiguous, "the loader takes contiguous arrays"
    module, gpu = load(text), device()
    with gpu.current(), _buffers(gpu, [*(a.nbytes for a in (*inputs, *outputs)), *scratch]) as addresses:
        for array, address in zip(inputs, addresses):
            if array.nbytes:
                gpu.ask("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)
        module.launch(launches, addresses, sizes)
        gpu.ask("cuCtxSynchronize")
        for array, address in zip(outputs, addresses[len(inputs) :]):
            if array.nbytes:
                gpu.ask("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)


@contextmanager
def _buffers(gpu: Device, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Device memory, freed at the end."""
    addresses: list[int] = []
    try:
        for size in sizes:
            addresses.append(int(gpu.ask("cuMemAlloc", max(size, 1))))
        yield addresses
    finally:
        for address in addresses:
            gpu.ask("cuMemFree", address)
