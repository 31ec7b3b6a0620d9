"""Tensors of other libraries on the host and back, with the dtypes that NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import DTYPES, numpy_dtype
from texpr.runtime.gpu.dlpack import tensor_in

CODES = {"bf16": (4, 16), "f8e4m3": (10, 8), "f8e5m2": (12, 8), "f32": (2, 32), "u8": (1, 8)}
"""Codes and bits of dlpack.h."""


class Foreign:
    """A tensor of another library: it hands capsules on, and knows no options but these."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack__(self, stream: object = None) -> Any:
        return self.source.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_codes(name: str, version: tuple[int, int] | None):
    capsule = tx.tensor([1.0, 2.5]).astype(name).__dlpack__(max_version=version)
    assert ("dltensor_versioned" in repr(capsule)) == (version is not None)
    tensor = tensor_in(capsule)
    assert tensor is not None and (tensor.code, tensor.bits, tensor.lanes) == (*CODES[name], 1)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0)])
def test_there_and_back_over_the_same_memory(name: str, shape: tuple[int, ...]):
    x = tx.tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape)).astype(name)
    back = tx.from_dlpack(Foreign(x))
    assert str(back.dtype) == name and back.shape == shape and back.tolist() == x.tolist()
    assert tx.tensor(Foreign(x)).dtype == x.dtype
    if x.size:
        assert np.shares_memory(back.value, x.value)


def test_strides():
    bits = np.arange(6, dtype=numpy_dtype(DTYPES["bf16"])).reshape(2, 3)
    x = tx.from_dlpack(np.asfortranarray(bits))
    assert x.tolist() == bits.tolist()


def test_memory_that_may_not_be_written():
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    x = tx.tensor(fixed)
    same = np.from_dlpack(x, copy=False)
    assert np.shares_memory(same, fixed) and not same.flags.writeable
    assert np.from_dlpack(x, copy=True).flags.writeable
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)
    assert not np.shares_memory(np.from_dlpack(Foreign(x)), fixed), (
        "a copy, for libraries that do not know of such memory"
    )


def test_what_cannot_be_handed_over():
    with pytest.raises(tx.CallError) as found:
        tx.from_dlpack(object())
    assert str(found.value).endswith(
        "help: what can be: a dtype that texpr has, on the CPU, detached from gradients"
    )
    with pytest.raises(tx.CallError, match="complex64"):
        tx.from_dlpack(np.zeros(2, np.complex64))
