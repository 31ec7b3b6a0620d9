"""Arrays of devices from and to other libraries: DLPack, and the interface that libraries for
NVIDIA's GPUs have of old.

A capsule owns a record with a function that frees it. Whoever takes the record over renames the
capsule and calls that function when it is done. The structures are those of dlpack.h, version 0.8
and before, which every library takes.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np

from texpr.runtime.gpu.array import DeviceArray
from texpr.runtime.gpu.device import Device, find_device, found_device
from texpr.runtime.gpu.driver_api import DEFAULT_STREAM
from texpr.runtime.native import native_library
from texpr.support.errors import CallError, ResourceError

_NAME, _USED = b"dltensor", b"used_dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}
ALIGNMENT = 16
"""Bytes at whose multiples arrays begin: the longest loads are of so many."""

_LEGACY = 1  # how both interfaces write the default stream


class DLTensor(ctypes.Structure):
    """DLTensor: `code`, `bits` and `lanes` are its dtype."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_python = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(
    ("PyCapsule_New", _python)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", _python))
_OFFSETS = {_NAME: 0, b"dltensor_versioned": 32}
"""Bytes before the tensor in the record of each kind of capsule: the newer one begins with
version, context, deleter and flags.
"""


def tensor_in(capsule: Any) -> DLTensor | None:
    """The tensor in a capsule of either kind, to be read and changed; None in one that was used
    already.
    """
    for name, offset in _OFFSETS.items():
        if _is_valid(id(capsule), name):
            return ctypes.cast(_pointer(id(capsule), name) + offset, ctypes.POINTER(DLTensor)).contents
    return None


def exported(array: DeviceArray, stream: int | None = None) -> Any:
    """A DLPack capsule over an array's memory.

    Args:
        stream: of the consumer, as DLPack writes streams; it is made to wait for what is queued
            here. -1: it sees to that itself.
    Raises:
        BufferError: a dtype that DLPack does not have.
    """
    if array.dtype.kind not in _CODES:
        raise BufferError(f"DLPack has no dtype {array.dtype}")
    if stream != -1:
        array.device.order(array.device.stream, DEFAULT_STREAM if stream in (None, _LEGACY) else stream)  # type: ignore[arg-type]
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    kind, number = array.device.facts.dlpack
    address = array.used_here() if array.size else 0
    tensor = DLTensor(
        address,
        kind,
        number,
        array.ndim,
        _CODES[array.dtype.kind],
        8 * array.dtype.itemsize,
        1,
        shape,
        None,
        0,
    )
    ends = native_library.symbols()
    record = _Managed(tensor, None, _Deleter(ends["tx_dlpack_deleter"]))
    owner = record, shape, array
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))  # the record's holder has a reference to it
    record.context = id(owner)
    return _new(ctypes.addressof(record), _NAME, _Destructor(ends["tx_dlpack_capsule_destructor"]))


class _Borrowed:
    """Memory of another library, held until nobody here needs it."""

    def __init__(self, record: Any, producer: object) -> None:
        self._record, self._producer = record, producer

    def __del__(self) -> None:
        if self._record is not None and self._record.contents.deleter:
            self._record.contents.deleter(self._record)


def taken_over(data: Any) -> DeviceArray | None:
    """Another library's array over the same memory; None where it does not lie on a device.

    Raises:
        CallError: its layout or dtype is not one of ours.
        ResourceError: its device cannot be used here.
    """
    known = getattr(data, "__dlpack_device__", None)
    if known is not None:
        kind, number = (int(each) for each in known())
        device = _device(kind, number)
        return None if device is None else _from_capsule(device, data)
    interface = getattr(data, "__cuda_array_interface__", None)
    return None if interface is None else _from_interface(interface, data)


def _device(kind: int, number: int) -> Device | None:
    """The device that DLPack means; None for the host's memory."""
    for name in ("cuda", "emulated"):
        try:
            found = find_device(f"{name}:{number}") if kind == {"cuda": 2, "emulated": 12}[name] else None
        except ResourceError as error:
            raise ResourceError(
                f"the tensor lies on a GPU: {error.message}", code="gpu", help=error.help
            ) from None
        if found is not None:
            return found
    return None


def _from_capsule(device: Device, data: Any) -> DeviceArray:
    capsule = data.__dlpack__(stream=_LEGACY if device.stream == DEFAULT_STREAM else device.stream)
    if not _is_valid(id(capsule), _NAME):
        raise CallError(
            "a DLPack capsule was used already, or is of a newer kind", code="type", help="ask for a new one"
        )
    record = ctypes.cast(_pointer(id(capsule), _NAME), ctypes.POINTER(_Managed))
    tensor = record.contents.tensor
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else None
    _refuse_strided(shape, strides)
    if tensor.lanes != 1 or tensor.code not in _KINDS:
        raise CallError(
            f"a tensor of DLPack's dtype {tensor.code} of {tensor.bits} bits, which texpr does not have",
            code="dtype",
        )
    dtype = np.dtype("bool" if _KINDS[tensor.code] == "b" else f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    address = (tensor.data or 0) + tensor.byte_offset
    _refuse_between(address)
    _rename(id(capsule), _USED)
    return DeviceArray(device, shape, dtype, address, _Borrowed(record, data))


def _from_interface(interface: dict[str, Any], data: Any) -> DeviceArray:
    device, dtype, shape = found_device("cuda:0"), np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    _refuse_strided(shape, None if strides is None else tuple(s // dtype.itemsize for s in strides))
    _refuse_between(interface["data"][0])
    stream = interface.get("stream")
    if stream is not None:
        device.order(DEFAULT_STREAM if stream == _LEGACY else stream, device.stream)
    return DeviceArray(device, shape, dtype, interface["data"][0], _Borrowed(None, data))


def _refuse_strided(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
    """Raise CallError for an array whose elements do not follow each other, row by row."""
    steps = tuple(prod(shape[k + 1 :]) for k in range(len(shape)))
    if (
        strides is not None
        and prod(shape)
        and any(n > 1 and a != b for n, a, b in zip(shape, strides, steps))
    ):
        raise CallError(
            f"a tensor of shape {list(shape)} on a device has strides {list(strides)}",
            code="layout",
            help="make it contiguous: x.contiguous()",
        )


def _refuse_between(address: int) -> None:
    """Raise CallError for an array that begins where kernels do not expect one."""
    if address % ALIGNMENT:
        raise CallError(
            f"a tensor on a device begins {address % ALIGNMENT} bytes behind a multiple of {ALIGNMENT}",
            code="layout",
            help="copy it: x.clone()",
        )


class Exchanged:
    """Base of classes that hold an array of a device at times: `_on_device` is that array, or
    None.
    """

    __slots__ = ()

    def _on_device(self) -> DeviceArray | None:
        raise NotImplementedError

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface; there is none for arrays elsewhere."""
        array = self._on_device()
        if array is None or not array.device.facts.shares:
            raise AttributeError("__cuda_array_interface__")
        stream = array.device.stream
        return {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.used_here(), False),
            "version": 3,
            "strides": None,
            "stream": _LEGACY if stream == DEFAULT_STREAM else stream,
        }
