"""Layers whose parameters get their values afterwards: they are made without memory for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from texpr.ir.dtypes import DType, numpy_dtype
from texpr.runtime.slabs import Given

bare_dtype: ContextVar[DType | None] = ContextVar("bare_dtype", default=None)
"""The dtype of all parameters that are made without memory; None outside."""


@contextmanager
def bare_parameters(dtype: DType) -> Iterator[None]:
    """Inside, layers draw no first values, and their parameters are zeros of a dtype that lie in one
    element, however large the layers are. `Variable.replace` gives each its value.
    """
    token = bare_dtype.set(dtype)
    try:
        yield
    finally:
        bare_dtype.reset(token)


def one_zero(shape: Sequence[int], dtype: DType) -> np.ndarray:
    """Zeros of a shape that lie in one element.

    Raises:
        ValueError: the shape has more elements than can be counted.
    """
    return np.broadcast_to(np.zeros((), numpy_dtype(dtype)), tuple(shape)).view(Given)
