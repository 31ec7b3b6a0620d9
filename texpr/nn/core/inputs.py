"""Inputs of networks: arrays, in the network's dtype."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from texpr.ir.dtypes import F32, F64, DType, as_bits, known_dtype, native_dtype, numpy_dtype, readable, stored
from texpr.runtime.call.convert import is_masked
from texpr.support.errors import CallError

_HELD = {t: numpy_dtype(t) for t in (F32, F64)}
"""The dtypes of networks whose inputs are taken as they are."""


class NetworkInput(NamedTuple):
    """An array and the dtype that it stands for: what NumPy lacks is held as its bits."""

    array: np.ndarray
    dtype: DType

    @property
    def spec(self) -> tuple[tuple[int, ...], DType]:
        """The shape and dtype that a program is captured for."""
        return self.array.shape, self.dtype


def as_input(value: object, dtype: DType | None) -> NetworkInput:
    """An array as a network takes it: floats in the network's dtype, everything else as it is.

    Raises:
        CallError: no array, or of a dtype that texpr does not have.
    """
    if (
        type(value) is np.ndarray
        and dtype is not None
        and dtype in _HELD
        and value.dtype == _HELD[dtype]
        and value.flags.c_contiguous
    ):
        return NetworkInput(
            value, dtype
        )  # in nearly all calls; a dtype of NumPy's equals None where it is float64
    if is_masked(value):
        raise CallError(
            "the input is a masked array, whose mask would be lost", code="type", help="fill it: x.filled(0)"
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise CallError(f"the input is no array: {error}", code="type") from None
    found = known_dtype("the input", array.dtype, "convert it: x.astype(...)")
    array = as_bits(array, found)
    if not found.is_float or dtype is None:
        return NetworkInput(array, found)
    if found == dtype and array.flags.c_contiguous and array.dtype.isnative:
        return NetworkInput(array, found)
    if found == dtype:
        return NetworkInput(
            np.ascontiguousarray(array, native_dtype(array.dtype)).reshape(array.shape), dtype
        )
    return NetworkInput(
        np.ascontiguousarray(stored(readable(array, found), dtype)).reshape(array.shape), dtype
    )
