"""Values while a graph is turned into a program: numbers, texts, arrays of the language, tensors that
are known then, and tensors of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from texpr.graph import Capture, Symbolic
from texpr.graph.execution.constant_values import constant_values
from texpr.ir.dtypes import BOOL, F32, I64, DType, as_bits, from_numpy, native_dtype, readable, stored
from texpr.support.errors import CallError


class Known:
    """A tensor whose values are known when the program is made.

    Attributes:
        array: as texpr stores `dtype`.
    """

    __slots__ = ("array", "dtype")

    def __init__(self, array: np.ndarray, dtype: DType) -> None:
        self.array, self.dtype = array, dtype

    @staticmethod
    def of(array: object, dtype: DType | None = None) -> Known:
        """Numbers of NumPy or Python, as the nearest of a dtype where one is given.

        Raises:
            CallError: a dtype that texpr does not have.
        """
        found = np.asarray(array)
        if dtype is not None:
            return Known(np.ascontiguousarray(stored(found, dtype)).reshape(found.shape), dtype)
        own = from_numpy(found.dtype)
        if own is None:
            raise CallError(f"an array has dtype {found.dtype}, which texpr does not have", code="dtype")
        held = as_bits(found, own)
        return Known(np.ascontiguousarray(held, native_dtype(held.dtype)).reshape(found.shape), own)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def numbers(self) -> np.ndarray:
        """The values as numbers."""
        return readable(self.array, self.dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Known)
            and (self.dtype, self.shape) == (other.dtype, other.shape)
            and self.array.tobytes() == other.array.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.array.tobytes()))


Value = bool | int | float | str | list | tuple | Known | Symbolic
"""Value that a name stands for."""


def leaves(value: Any) -> Iterator[Any]:
    """Items of arrays and tuples, or the value itself."""
    if isinstance(value, list | tuple):
        for v in value:
            yield from leaves(v)
    else:
        yield value


def literal_tensor(value: Any, like: DType | None = None) -> Known:
    """A number, or nested arrays of numbers, as a tensor.

    Args:
        like: the dtype of tensors beside it, which numbers take that fit.
    Raises:
        CallError: arrays of several lengths, or of texts.
    """
    found = [v for v in leaves(value)]
    if not all(isinstance(v, bool | int | float) for v in found):
        raise CallError("arrays of numbers are tensors, and nothing else is", code="nnef")
    if found and all(isinstance(v, bool) for v in found):
        dtype = BOOL
    elif all(isinstance(v, int) for v in found) and found:
        dtype = like if like is not None and like != BOOL else I64
    else:
        dtype = like if like is not None and like.is_float else F32
    try:
        array = np.array(value, dtype=np.float64 if dtype.is_float else bool if dtype == BOOL else np.int64)
    except (ValueError, OverflowError):
        raise CallError(
            "an array of arrays of several lengths, or of too large numbers", code="nnef"
        ) from None
    return Known.of(array, dtype)


def evaluated(capture: Capture, results: Sequence[Symbolic]) -> list[Known]:
    """The values of results that depend on constants alone."""
    if not results:
        return []
    results = [capture.own_result(r) for r in results]
    values = constant_values(capture, results)
    return [Known(np.asarray(values[r.tensor]), r.tensor.dtype) for r in results]
