"""DLPack for dtypes that NumPy lacks: capsules over their bits, in which the dtype's code is
another. Codes: dlpack.h, version 1.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.ir.dtypes import BF16, F8E4M3, F8E5M2, DType
from texpr.runtime import gpu
from texpr.runtime.gpu.dlpack import tensor_in

_CODES = {BF16: 4, F8E4M3: 10, F8E5M2: 12}
_KNOWN = {(code, t.bits): t for t, code in _CODES.items()}
_UNSIGNED = 1


def coded(capsule: Any, t: DType) -> Any:
    """A capsule over the bits of `t` as one over `t`."""
    if t.as_bits:
        tensor = tensor_in(capsule)
        assert tensor is not None
        tensor.code = _CODES[t]
    return capsule


class Bits:
    """Another library's tensor, whose bits NumPy takes over where it lacks the dtype.

    Attributes:
        dtype: what the bits stand for; None before NumPy has asked, and for dtypes that NumPy
            knows.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        self.dtype: DType | None = None

    def __dlpack__(self, **options: Any) -> Any:
        capsule = _capsule(self._data, options)
        tensor = tensor_in(capsule)
        if (
            tensor is not None
            and tensor.lanes == 1
            and (found := _KNOWN.get((tensor.code, tensor.bits))) is not None
        ):
            self.dtype, tensor.code = found, _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()


def taken_over(data: Any) -> tuple[np.ndarray | gpu.DeviceArray, DType | None]:
    """An array over the memory of another library's tensor; the dtype that its bits stand for,
    where NumPy lacks it.

    Raises:
        CallError: a layout or dtype on a device that texpr does not take.
        ResourceError: it lies on a device that cannot be used here.
        BufferError, RuntimeError, TypeError, AttributeError, ValueError: it is none, or cannot be
        exported.
    """
    source = Bits(data) if hasattr(data, "__dlpack_device__") else data
    array = gpu.taken_over(source)
    if array is None:
        array = np.from_dlpack(source)
    return array, source.dtype if isinstance(source, Bits) else None


def _capsule(data: Any, options: dict[str, Any]) -> Any:
    """The capsule that a library exports: some do not know the newer options."""
    try:
        return data.__dlpack__(**options)
    except TypeError:
        return data.__dlpack__()
