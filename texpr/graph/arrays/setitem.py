"""Arrays with some elements replaced: what `x[key] = value` gives to `x`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions, operator_texts
from texpr.graph.arrays.indexing import put_condition, selection
from texpr.graph.arrays.promotion import with_number
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


def with_elements(x: Any, key: object, value: Any, make: Callable[[object], Any]) -> Any:
    """`x` with the elements at `key` replaced.

    Args:
        make: makes what `x` is of an array or a number.
    Raises:
        CallError: places that are not known yet; shapes that do not fit.
    """
    if key is ... and getattr(value, "shape", None) == x.shape and not isinstance(value, np.ndarray):
        return ops.copy(array_functions.cast(value, x.dtype))
    if isinstance(value, int) and not isinstance(value, bool):
        with_number(x.dtype, value)  # refuses what the dtype does not hold
    if getattr(key, "dtype", None) is BOOL and not np.ndim(key):  # type: ignore[arg-type]
        key = key.numpy()  # type: ignore[attr-defined]
    if (holds := array_functions.truth_of_all(key)) is not None:
        key = ... if holds else np.zeros(x.shape, bool) if x.shape else None
        if key is None:
            return ops.copy(x)
    if isinstance(key, list):
        key = np.asarray(key, None if key else np.int64)
    if getattr(key, "dtype", None) in (BOOL, np.bool_) and np.ndim(key):  # type: ignore[arg-type]
        if np.ndim(value):
            return _at_places(x, key, value, make)
        if isinstance(key, np.ndarray):
            axes = x.shape[: key.ndim]
            empty = 0 in key.shape and array_functions.mask_fits(key.shape, axes)
            key = make(np.zeros(axes, bool) if empty else key)
        return array_functions.cast(array_functions.where(_over(x, key), value, x), x.dtype)
    found = selection(x.shape, array_functions.normal(key, x.shape))
    if found.places:
        return _at_places(x, key, value, make)
    condition, at, shape = put_condition(found)
    values = _as_values(x, value, make)
    if len(values.shape) > len(shape):
        values = values.reshape(tuple(n for n in values.shape if n != 1))
    if not _fits(values.shape, shape):
        raise _unfitting(values.shape, shape)
    own = at[len(shape) - len(values.shape) :]
    own = [
        "0" if n == 1 and shape[len(shape) - len(own) + k] != 1 else place
        for k, (n, place) in enumerate(zip(values.shape, own))
    ]
    return operator_texts.put(x.shape, condition, own, values.shape, x.dtype)(x, values)


def _as_values(x: Any, value: Any, make: Callable[[object], Any]) -> Any:
    """The values that are assigned, in the dtype of `x`."""
    known = isinstance(value, np.ndarray | np.generic | bool | int | float)
    return array_functions.cast(make(value) if known else value, x.dtype)


def needs_places(key: object) -> bool:
    """True if an index has arrays of integers, or a mask beside other parts: its places are computed
    before anything is assigned.
    """
    parts = key if isinstance(key, tuple) else (key,)
    several = isinstance(key, tuple) and len(key) > 1
    return any(
        np.ndim(k) > 0 and (several or getattr(k, "dtype", None) not in (BOOL, np.bool_))  # type: ignore[arg-type]
        for k in parts
        if hasattr(k, "dtype")
    )


def known_places(key: object) -> object:
    """An index with the values of its tensors."""
    if isinstance(key, tuple):
        return tuple(k.numpy() if hasattr(k, "numpy") else k for k in key)
    return key.numpy() if hasattr(key, "numpy") else key  # type: ignore[attr-defined]


def _at_places(x: Any, key: object, value: Any, make: Callable[[object], Any]) -> Any:
    """`x` with the elements at places replaced that NumPy finds in a table of all places. The last of
    several values at one place counts.

    Raises:
        CallError: places that are computed while a function is traced; shapes that do not fit.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if any(hasattr(k, "shape") and not isinstance(k, np.ndarray | np.generic) for k in parts):
        if not all(hasattr(k, "numpy") for k in parts if hasattr(k, "shape")):
            raise CallError(
                "elements at places that are computed in a traced function are assigned",
                code="index",
                help="use texpr.ops.scatter, which says what happens where places meet",
            )
        key = known_places(key)
    try:
        places = np.arange(prod(x.shape)).reshape(x.shape)[key]  # type: ignore[index]
    except IndexError as error:
        raise CallError(
            f"the index does not fit a tensor of shape {list(x.shape)}: {error}",
            code="index",
            help="a mask has the extents of its axes, several arrays of places have one shape",
        ) from None
    values = _as_values(x, value, make)
    if not _fits(values.shape, places.shape):
        raise _unfitting(values.shape, places.shape)
    if not places.size:
        return ops.copy(x)
    values = values.broadcast_to(places.shape).reshape(-1)
    return ops.scatter(x.reshape(-1), make(places.reshape(-1)), values, axis=0).reshape(x.shape)


def _unfitting(values: Sequence[int], shape: Sequence[int]) -> CallError:
    """The error of values that do not broadcast to the elements they are assigned to."""
    return CallError(
        f"values of shape {list(values)} are assigned to elements of shape {list(shape)}",
        code="shape",
        help="assign one number, or values of the shape of x[key], whose extents may be 1 and missing in front",
    )


def _over(x: Any, mask: Any) -> Any:
    """A mask of the first axes of `x`, with the others as axes of extent 1."""
    if mask.shape != x.shape[: len(mask.shape)]:
        raise CallError(
            f"a mask of shape {list(mask.shape)} chooses from axes of extents "
            f"{list(x.shape[: len(mask.shape)])}",
            code="index",
            help="a mask has the extents of the axes that it stands for, from the first one on",
        )
    return mask.reshape((*mask.shape, *[1] * (len(x.shape) - len(mask.shape))))


def _fits(values: Sequence[int], shape: Sequence[int]) -> bool:
    """True if an array broadcasts to a shape."""
    return len(values) <= len(shape) and all(n in (1, m) for n, m in zip(reversed(values), reversed(shape)))
