"""DLPack for arrays of the host in dtypes that NumPy lacks: NumPy's own capsules over their bits, in which the dtype's code is another.

Codes and structures: dlpack.h, versions 0.8 and 1.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.ir.dtypes import BF16, F8E4M3, F8E5M2, DType, numpy_dtype
from texpr.runtime.gpu.dlpack import tensor_in

_CODES = {BF16: 4, F8E4M3: 10, F8E5M2: 12}
_KNOWN = {(code, t.bits): t for t, code in _CODES.items()}
_UNSIGNED = 1


def exported_bits(bits: np.ndarray, t: DType, options: dict[str, Any]) -> Any:
    """A capsule over an array that holds the bits of `t`.

    Args:
        options: as `__dlpack__` takes them.
    Raises:
        BufferError: the consumer asks for what NumPy does not export, such as an array that may not be written.
    """
    capsule = bits.__dlpack__(**options)
    tensor = tensor_in(capsule)
    assert tensor is not None
    tensor.code = _CODES[t]
    return capsule


class Bits:
    """Another library's tensor, whose bits NumPy takes over where it lacks the dtype.

    Attributes:
        dtype: what the bits stand for; None before NumPy has asked, and for dtypes that NumPy knows.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        self.dtype: DType | None = None

    def __dlpack__(self, **options: Any) -> Any:
        capsule = _capsule(self._data, options)
        tensor = tensor_in(capsule)
        if tensor is not None and tensor.lanes == 1 and (found := _KNOWN.get((tensor.code, tensor.bits))) is not None:
            self.dtype, tensor.code = found, _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()


def taken_over_bits(data: Any) -> tuple[np.ndarray, DType | None]:
    """An array over the memory of another library's tensor on the host; the dtype that its bits stand for, where NumPy lacks it."""
    source = Bits(data)
    array = np.from_dlpack(source)  # type: ignore[arg-type]
    assert source.dtype is None or array.dtype == numpy_dtype(source.dtype)
    return array, source.dtype


def _capsule(data: Any, options: dict[str, Any]) -> Any:
    """What a library exports: some do not know the newer options."""
    try:
        return data.__dlpack__(**options)
    except TypeError:
        return data.__dlpack__()
