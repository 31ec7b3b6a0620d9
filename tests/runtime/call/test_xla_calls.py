"""The handler of XLA's calls, called as XLA does, without JAX: call frames by ctypes."""

from __future__ import annotations

import ctypes
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, addressof, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from itertools import count

import numpy as np
import pytest

import texpr as tx
from texpr.compiler.op import default_kernel
from texpr.ir.shapes import bind_sizes
from texpr.runtime.call import xla_calls
from texpr.runtime.native import native_library


class Extension(Structure):
    _fields_ = [("size", c_size_t), ("type", c_int32), ("next", c_void_p)]


class Version(Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("major", c_int32), ("minor", c_int32)]


class Metadata(Structure):
    _fields_ = [("size", c_size_t), ("version", Version), ("traits", ctypes.c_uint32)]


class MetadataExtension(Structure):
    _fields_ = [("base", Extension), ("metadata", POINTER(Metadata))]


class ErrorArguments(Structure):
    _fields_ = [("size", c_size_t), ("extensions", c_void_p), ("message", c_char_p), ("code", c_int32)]


MakeError = CFUNCTYPE(c_void_p, POINTER(ErrorArguments))


class Api(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("version", Version),
        ("internal", c_void_p),
        ("make_error", MakeError),
    ]


class Buffer(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("type", c_int32),
        ("data", c_void_p),
        ("rank", c_int64),
        ("extents", POINTER(c_int64)),
    ]


class Several(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("count", c_int64),
        ("kinds", POINTER(c_int32)),
        ("values", POINTER(c_void_p)),
    ]


class Scalar(Structure):
    _fields_ = [("type", c_int32), ("value", c_void_p)]


class Attributes(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("count", c_int64),
        ("kinds", POINTER(c_int32)),
        ("names", c_void_p),
        ("values", POINTER(c_void_p)),
    ]


class Frame(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("extensions", c_void_p),
        ("api", POINTER(Api)),
        ("context", c_void_p),
        ("stage", c_int32),
        ("arguments", Several),
        ("results", Several),
        ("attributes", Attributes),
    ]


TYPES = {"float32": 11, "int32": 4, "uint64": 9, "int64": 5, "uint8": 6}
numbers = count(1 << 40)


def called(number: int, inputs, outputs, stage: int = 3, extensions: int | None = None) -> tuple[int, str]:
    """The code and text of the error of a call; (0, "") where it went well."""
    said: list[tuple[int, str]] = []

    def make_error(arguments) -> int:
        said.append((arguments[0].code, arguments[0].message.decode()))
        return 77

    api = Api(version=Version(minor=3), make_error=MakeError(make_error))
    kept: list[object] = []

    def several(arrays) -> Several:
        buffers = []
        for a in arrays:
            extents = (c_int64 * max(a.ndim, 1))(*a.shape)
            buffers.append(Buffer(type=TYPES[a.dtype.name], data=a.ctypes.data, rank=a.ndim, extents=extents))
            kept.append(extents)
        kinds, values = (c_int32 * 9)(*[1] * len(arrays)), (c_void_p * 9)(*map(addressof, buffers))
        kept.extend((buffers, kinds, values))
        return Several(count=len(arrays), kinds=kinds, values=values)

    value = c_int64(number)
    scalar = Scalar(5, addressof(value))
    attributes = Attributes(count=1, kinds=(c_int32 * 1)(3), values=(c_void_p * 1)(addressof(scalar)))
    frame = Frame(
        api=ctypes.pointer(api),
        stage=stage,
        arguments=several(inputs),
        results=several(outputs),
        attributes=attributes,
        extensions=extensions,
    )
    result = CFUNCTYPE(c_void_p, POINTER(Frame))(xla_calls.handler())(ctypes.byref(frame))
    assert result == (77 if said else None)
    return said[0] if said else (0, "")


def added(text: str, *arrays: np.ndarray) -> tuple[int, list[np.ndarray]]:
    """The number of a kernel for arrays of these shapes, and memory for its results."""
    operator = tx.op(text)
    program, shapes = operator.program(), tuple(a.shape for a in arrays)
    kernel = default_kernel(program, bind_sizes(program.inputs, shapes)[0])
    spec, number = kernel.call_spec(shapes), next(numbers)
    xla_calls.add_kernel(number, kernel.address, spec, kernel)
    return number, [np.zeros(a.shape, a.dtype) for a in spec.outputs]


def test_a_kernel_runs():
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.ones((3, 4), "f4")
    text = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    number, outputs = added(text, a, b)
    assert called(number, (a, b), outputs) == (0, "")
    assert np.array_equal(outputs[0], a @ b)


def test_many_kernels_are_told_apart():
    """The table grows meanwhile."""
    made = []
    for k in range(150):
        x = np.ones(1, "f4")
        if k % 50 == 0:
            number, outputs = added(f"op plus{k}(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] + {k} }}", x)
            made.append((number, outputs, k))
        else:
            first = xla_calls._kept[made[-1][0]]
            words = bytearray(first[0].raw)  # the same kernel under another number
            number = next(numbers) * 64  # all begin at one place of the table
            words[:8] = number.to_bytes(8, "little")
            kept = ctypes.create_string_buffer(bytes(words))
            add = CFUNCTYPE(c_int32, c_void_p)(xla_calls._library()["tx_xla_add"])
            assert add(addressof(kept)) == 0
            xla_calls._kept[number] = kept, first
            made.append((number, made[-1][1], made[-1][2]))
    for number, outputs, k in made:
        assert called(number, (np.ones(1, "f4"),), outputs) == (0, "") and outputs[0].tolist() == [1 + k]


@pytest.mark.parametrize(
    ("dtype", "values", "text"),
    [
        ("i32", [[0, 1], [2, 3]], "`I[1, 1]` is 3, expected a value in 0..3"),
        ("i32", [[0, -(2**31)], [2, 3]], "`I[0, 1]` is -2147483648, expected a value in 0..3"),
        ("u8", [[255, 0], [0, 0]], "`I[0, 0]` is 255, expected a value in 0..3"),
        ("u64", [[0, 2**64 - 1], [0, 0]], "`I[0, 1]` is 18446744073709551615, expected a value in 0..3"),
        ("i64", [[0, 0], [-(2**63), 0]], "`I[1, 0]` is -9223372036854775808, expected a value in 0..3"),
    ],
)
def test_values_outside_of_a_range(dtype: str, values, text: str):
    x, index = np.ones(3, "f4"), np.array(values, tx_dtype(dtype))
    number, outputs = added(
        f"op same(X: f32[N], I: {dtype}[M, K] in 0..N) -> Y: {dtype}[M, K] {{ Y[i, j] = I[i, j] }}", x, index
    )
    assert called(number, (x, index), outputs) == (3, f"same: {text}")
    assert called(number, (x, np.zeros_like(index)), outputs) == (0, "")


def tx_dtype(name: str) -> np.dtype:
    return np.dtype(name[0] + str(int(name[1:]) // 8))


def test_values_that_are_there_twice():
    x = np.ones(5000, "f4")
    text = "op spread(X: f32[N], p: i32[K] in 0..N distinct) -> Y: f32[K] { Y[j] = X[p[j]] }"
    for values in ([7, 4999, 7], [1, 0, 1]):
        p = np.array(values, "i4")
        number, outputs = added(text, x, p)
        said = f"spread: `p[0]` and `p[2]` are both {values[0]}, expected distinct values"
        assert called(number, (x, p), outputs) == (3, said)
        assert called(number, (x, np.array([4999, 0, 2], "i4")), outputs) == (0, "")


def test_calls_that_do_not_fit():
    x = np.ones(4, "f4")
    number, outputs = added("op half(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / 2 }", x)
    refused = (3, "half: the kernel is for buffers of other shapes")
    for inputs in ((np.ones(5, "f4"),), (np.ones(4, "i4"),), (np.ones((2, 2), "f4"),), (x, x), ()):
        assert called(number, inputs, outputs) == refused
    assert called(number, (x,), [np.ones(3, "f4")]) == refused
    code, text = called(12345, (x,), outputs)
    assert code == 9 and text.startswith("texpr: this program was compiled in another process")
    assert called(12345, (x,), outputs, stage=0) == called(12345, (x,), outputs, stage=2) == (0, "")


def test_ctrl_c_for_others_makes_a_kernel_wait_and_run_again():
    """The flag as other kernels, which are counted in the upper half of the word, have it up."""
    word = ctypes.c_uint64.from_address(native_library.symbols()["tx_interrupted"])
    text = "op slow(X: f32[N]) -> Y: f32 { Y = sum(i, j in 0..N, k in 0..N: sin(X[i] * X[j] + X[k])) }"
    x = np.linspace(0, 1, 100, dtype="f4")
    number, outputs = added(text, x)
    assert called(number, (x,), outputs) == (0, "")
    expected = outputs[0].copy()
    for value, lowered in (((1 << 32) + 1, 0.1), (1, None)):  # one that is counted; a stale flag
        outputs[0][...], word.value = -1, value
        if lowered is not None:
            threading.Timer(lowered, setattr, (word, "value", 0)).start()
        assert called(number, (x,), outputs) == (0, "") and outputs[0] == expected and word.value == 0
    word.value = (1 << 32) + 1
    try:
        assert called(number, (x,), outputs) == (1, "slow: interrupted by Ctrl-C")
    finally:
        word.value = 0


def test_a_long_name_is_cut():
    name, x = "n" * 3000, np.array([1], "i4")
    number, outputs = added(f"op {name}(I: i32[N] in 0..N) -> Y: i32[N] {{ Y[i] = I[i] }}", x)
    assert called(number, (x,), outputs) == (3, "n" * 1023)


def test_the_version_is_that_of_the_caller():
    metadata = Metadata()
    extension = MetadataExtension(Extension(type=1), ctypes.pointer(metadata))
    assert called(0, (), (), extensions=addressof(extension)) == (0, "")
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, 3, 0)
