"""Python functions as native code that kernels call, and what they raise on its way back to the
caller.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr.support.frozen_dataclass import frozen

_waiting = threading.local()


@frozen
class NativeFunction:
    """A function with an address. The code at the address lives as long as this object.

    Attributes:
        is_python: it takes the GIL.
    """

    address: int
    _code: object
    is_python: bool = False


def take_error() -> BaseException | None:
    """The exception of a function in this thread's last kernel call; each is returned once."""
    error = getattr(_waiting, "error", None)
    _waiting.error = None
    return error


def native_function(
    function: Callable[[list[np.ndarray], list[tuple[int, ...]]], Sequence[np.ndarray]],
    inputs: Sequence[tuple[np.dtype, int]],
    outputs: Sequence[tuple[np.dtype, int]],
) -> NativeFunction:
    """`int32_t (const void *input, ..., void *output, ..., int64_t extent, ...)`, which runs
    `function(arrays, shapes of the outputs)`.

    It takes the GIL. The inputs are read-only arrays over the caller's memory and the results are
    copied to it. An exception is kept for `take_error`, and the code returns 2.

    Args:
        inputs, outputs: dtype and rank of each array.
    """
    arrays = (*inputs, *outputs)
    ranks = [rank for _, rank in arrays]
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays), *[ctypes.c_int64] * sum(ranks))

    def run(*words: int | None) -> int:
        try:
            extents = iter(words[len(arrays) :])
            shapes = [tuple(int(next(extents) or 0) for _ in range(rank)) for rank in ranks]
            views = [_view(at, dtype, shape) for at, (dtype, _), shape in zip(words, arrays, shapes)]
            for view in views[: len(inputs)]:
                view.flags.writeable = False
            results = function(views[: len(inputs)], shapes[len(inputs) :])
            for view, result in zip(views[len(inputs) :], results, strict=True):
                np.copyto(view, result, casting="no")
        except BaseException as error:  # noqa: BLE001
            _waiting.error = error
            return 2
        return 0

    code = kind(run)
    return NativeFunction(ctypes.cast(code, ctypes.c_void_p).value or 0, code, True)


def _view(address: int | None, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    if not count or not address:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.ndarray((count,), dtype, memory).reshape(shape)
