"""What the driver of NVIDIA's GPUs asks of the C library, and what its answers become, without a
GPU: a library that answers as told.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from texpr.runtime.gpu import Code, NvidiaDriver, find_device, nvidia
from texpr.runtime.gpu.driver_api import OutOfMemory
from texpr.runtime.gpu.driver_library import _FUNCTIONS, Library
from texpr.support.errors import CompileError, ResourceError

NAMES = {
    1: b"CUDA_ERROR_INVALID_VALUE",
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    209: b"CUDA_ERROR_NO_BINARY_FOR_GPU",
    600: b"CUDA_ERROR_NOT_READY",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    701: b"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
}
ANSWERS: dict[str, tuple] = {
    "cuInit": (),
    "cuDriverGetVersion": (13000,),
    "cuDeviceGetCount": (1,),
    "cuDeviceGet": (0,),
    "cuDeviceTotalMem_v2": (1 << 34,),
    "cuDevicePrimaryCtxRetain": (77,),
    "cuMemAlloc_v2": (0x7F00000000,),
    "cuCtxPopCurrent_v2": (77,),
    "cuMemGetInfo_v2": (1 << 30, 1 << 34),
    "cuStreamCreate": (11,),
    "cuEventCreate": (12,),
    "cuLibraryGetKernel": (13,),
    "cuKernelGetFunction": (14,),
    "cuStreamEndCapture": (15,),
    "cuGraphInstantiateWithFlags": (16,),
    "cuEventElapsedTime": (1.5,),
}


class Stub:
    """A C library: functions that note what they are given, write what they are told, and give a
    status.
    """

    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple] = []
        self._answers = {**ANSWERS, **answers}

    def __getattr__(self, symbol: str) -> Callable[..., int]:
        def function(*arguments: Any) -> int:
            self.calls.append((symbol, *(getattr(a, "value", a) for a in arguments if not _is_reference(a))))
            if symbol == "cuDeviceGetAttribute":
                arguments[0]._obj.value = {75: 9, 76: 0}[arguments[1].value]
            elif symbol == "cuDeviceGetName":
                arguments[0].value = b"GPU of tests"
            elif symbol in ("cuGetErrorName", "cuGetErrorString"):
                arguments[1]._obj.value = NAMES[arguments[0].value]
            elif symbol == "cuLibraryLoadData":
                return self._load(*arguments)
            else:
                answer = self._answers.get(symbol, ())
                if isinstance(answer, int):
                    return answer
                for target, value in zip((a for a in arguments if _is_reference(a)), answer, strict=True):
                    target._obj.value = value
            return 0

        return function

    def _load(self, handle: Any, code: Any, names: Any, values: Any, *_: object) -> int:
        assert list(names) == [5, 6] and values[1] == 8192
        if b"bad" in code.value:
            ctypes.memmove(values[0], b"line 3: no\0", 11)
            return 209
        handle._obj.value = 99
        return 0


def _is_reference(value: Any) -> bool:
    return type(value).__name__ == "CArgObject"


def driver(**answers: Any) -> tuple[NvidiaDriver, list[tuple]]:
    stub = Stub(**answers)
    made = NvidiaDriver(0, Library(stub))
    stub.calls.clear()
    return made, stub.calls


def test_what_a_device_is():
    facts = driver()[0].facts
    assert (facts.name, facts.capability, facts.memory) == ("GPU of tests", (9, 0), 1 << 34)
    assert (facts.driver, facts.dlpack) == ("CUDA 13.0", (2, 0))


def test_the_name_ends_where_c_says():
    """The package `cuda-bindings` gives all of the buffer: what was in it behind the name as
    well.
    """
    functions = Library(Stub())
    functions.cuDeviceGetName = lambda length, device: (0, b"GPU of tests\0\0\0".ljust(length))  # type: ignore[method-assign]
    assert NvidiaDriver(0, functions).facts.name == "GPU of tests"


def test_calls_are_made_in_the_context():
    gpu, calls = driver()
    assert gpu.allocate(100) == 0x7F00000000
    assert calls == [("cuCtxPushCurrent_v2", 77), ("cuMemAlloc_v2", 100), ("cuCtxPopCurrent_v2",)]


def test_a_launch():
    gpu, calls = driver()
    function = gpu.function(gpu.load(Code("", lambda: "good")), "k")
    parameters = gpu.parameters([10, 20], [-3])
    calls.clear()
    gpu.launch(function, (2, 3, 4), (5, 6, 7), parameters, 0)
    assert calls[1] == ("cuLaunchKernel", 14, 2, 3, 4, 5, 6, 7, 0, None, parameters.address, None)
    given = (ctypes.c_void_p * 3).from_address(parameters.address)
    assert [ctypes.c_int64.from_address(p).value for p in given] == [10, 20, -3]


def test_tensor_maps():
    """Numbers of CUDA's header: bf16 is 9, dimensions come from the last one on, strides leave
    that out, 2 is a swizzle of 64 bytes.
    """
    gpu, calls = driver()
    parameters = gpu.parameters([0x1000, 0x2000], [5], [(1, "bf16", (7, 100, 200), (1, 64, 32), 64)])
    (_, (name, made, dtype, rank, address, *arrays, interleaved, swizzle, promoted, outside), _) = calls
    assert (name, dtype, rank, address) == ("cuTensorMapEncodeTiled", 9, 3, 0x2000) and made % 64 == 0
    assert [list(a) for a in arrays] == [[200, 100, 7], [400, 40000], [32, 64, 1], [1, 1, 1]]
    assert (interleaved, swizzle, promoted, outside) == (0, 2, 2, 0)
    given = (ctypes.c_void_p * 4).from_address(parameters.address)
    assert [ctypes.c_int64.from_address(p).value for p in given[:3]] == [0x1000, 0x2000, 5] and given[
        3
    ] == made


def test_a_tensor_map_that_the_driver_does_not_take():
    with pytest.raises(AssertionError, match="cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE"):
        driver(cuTensorMapEncodeTiled=1)[0].parameters([16], [], [(0, "f32", (4,), (4,), 0)])


def test_copies():
    gpu, calls = driver()
    array = np.zeros(4, np.float32)
    gpu.to_device(1000, array, 5)
    gpu.to_host(array, 1000, 5)
    names = [c for c in calls if not c[0].startswith("cuCtx")]
    assert names == [
        ("cuMemcpyHtoDAsync_v2", 1000, array.ctypes.data, 16, 5),
        ("cuMemcpyDtoHAsync_v2", array.ctypes.data, 1000, 16, 5),
        ("cuStreamSynchronize", 5),
    ]


def test_a_graph():
    gpu, calls = driver()
    stream = gpu.begin_capture()
    graph = gpu.end_capture(stream)
    gpu.launch_graph(graph, 0)
    gpu.end_graph(graph)
    names = [c[0] for c in calls if not c[0].startswith("cuCtx")]
    assert (stream, graph) == (11, 16) and names == [
        "cuStreamCreate",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuStreamDestroy_v2",
        "cuGraphInstantiateWithFlags",
        "cuGraphDestroy",
        "cuGraphLaunch",
        "cuGraphExecDestroy",
    ]


def test_events():
    gpu, _ = driver()
    assert gpu.milliseconds(gpu.make_event(), gpu.make_event()) == 1.5 and gpu.reached(12)
    assert not driver(cuEventQuery=600)[0].reached(12)
    with pytest.raises(AssertionError, match="a kernel failed, and what follows on this device does too"):
        driver(cuEventQuery=700)[0].reached(12)


def test_every_function_of_the_driver_has_its_symbol():
    """Where the package of the driver's maker is installed, our names are its names."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    assert [name for name in _FUNCTIONS if not hasattr(bindings, name)] == []


def test_code_that_is_refused():
    with pytest.raises(CompileError) as error:
        driver()[0].load(Code("", lambda: "bad"))
    assert str(error.value) == (
        "error[target]: the GPU's driver does not take this code: CUDA_ERROR_NO_BINARY_FOR_GPU\n    line 3: "
        "no\n"
        "  help: compile for the processor of this device"
    )


def test_a_block_that_is_too_large():
    gpu, _ = driver(cuLaunchKernel=701)
    with pytest.raises(CompileError, match="needs more registers or shared memory"):
        gpu.launch(1, (1, 1, 1), (1024, 1, 1), gpu.parameters([], []), 0)


def test_no_memory():
    with pytest.raises(OutOfMemory):
        driver(cuMemAlloc_v2=2)[0].allocate(1)


PROBES = {
    "no device": (
        dict(cuInit=100),
        "error[gpu]: there is no GPU that the NVIDIA driver can use: CUDA_ERROR_NO_DEVICE\n"
        "    the driver is of CUDA 13.0\n",
    ),
    "old driver": (
        dict(cuDriverGetVersion=(11040,)),
        "error[gpu]: the NVIDIA driver is of CUDA 11.4, and 12.0 is needed\n"
        "  help: install a newer driver; without one, compile with a GPU target",
    ),
    "hidden": (
        dict(cuDeviceGetCount=(0,)),
        "error[gpu]: the NVIDIA driver finds no GPU\n  help: look at CUDA_VISIBLE_DEVICES",
    ),
}


@pytest.mark.parametrize("answers, text", PROBES.values(), ids=PROBES)
def test_probes(answers: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    monkeypatch.setattr(nvidia, "Library", lambda: Library(Stub(**answers)))
    with pytest.raises(ResourceError) as error:
        nvidia.api.__wrapped__()
    assert str(error.value).startswith(text)


def test_no_driver(monkeypatch: pytest.MonkeyPatch):
    def absent() -> None:
        raise OSError("libcuda.so.1: no such file")

    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    monkeypatch.setattr(nvidia, "Library", absent)
    with pytest.raises(ResourceError) as error:
        nvidia.api.__wrapped__()
    assert str(error.value) == (
        "error[gpu]: there is no NVIDIA driver: libcuda.so.1: no such file\n"
        "  help: install NVIDIA's driver (nvidia-smi shows it); without a GPU, compile with a GPU target and "
        "look at kernel.ptx, "
        'or use the device "emulated", where threads are fibers of the CPU'
    )


def test_another_device_than_there_are():
    with pytest.raises(ResourceError) as error:
        NvidiaDriver(3, Library(Stub()))
    assert str(error.value) == (
        "error[gpu]: there is no GPU 3: this machine has 1, counted from 0\n  help: look at "
        "CUDA_VISIBLE_DEVICES"
    )
    with pytest.raises(ResourceError, match="there is no"):
        find_device("cuda:63")
