"""Arrays with some elements replaced: what `x[key] = value` gives to `x`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr.graph.arrays import calls, written
from texpr.graph.arrays.indexing import put_condition, selection
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


def with_elements(x: Any, key: object, value: Any, make: Callable[[object], Any]) -> Any:
    """`x` with the elements at `key` replaced.

    Args:
        make: makes what `x` is of an array or a number.
    Raises:
        CallError: an array of integers as index; shapes that do not fit.
    """
    if getattr(key, "dtype", None) in (BOOL, np.bool_):
        if np.ndim(value):
            raise CallError("an array is assigned where a mask holds", code="index",
                            help="assign one number, or choose element by element: tx.where(mask, values, x)")
        return calls.cast(calls.where(make(key) if isinstance(key, np.ndarray | np.generic) else key, value, x), x.dtype)
    found = selection(x.shape, calls.normal(key))
    if found.places:
        raise CallError("elements at places that an array gives are assigned", code="index",
                        help="use texpr.ops.scatter, which says what happens where places meet")
    condition, at, shape = put_condition(found)
    values = calls.cast(make(value) if isinstance(value, np.ndarray | np.generic | bool | int | float) else value, x.dtype)
    if len(values.shape) > len(shape):
        values = values.reshape(tuple(n for n in values.shape if n != 1))
    if not _fits(values.shape, shape):
        raise CallError(f"values of shape {list(values.shape)} are assigned to elements of shape {shape}", code="shape")
    own = at[len(shape) - len(values.shape) :]
    own = ["0" if n == 1 and shape[len(shape) - len(own) + k] != 1 else place for k, (n, place) in enumerate(zip(values.shape, own))]
    return written.put(x.shape, condition, own, values.shape, x.dtype)(x, values)


def _fits(values: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether an array broadcasts to a shape."""
    return len(values) <= len(shape) and all(n in (1, m) for n, m in zip(reversed(values), reversed(shape)))
