"""Creation functions of the standard. Floats are f64 unless a type is given, as those of NumPy are."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.graph.array_api.data_types import DEFAULTS, dtype_named
from texpr.graph.arrays import rearranging
from texpr.graph.lazy import creation
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import as_tensor, tensor
from texpr.graph.lazy.making import from_dlpack as _from_dlpack
from texpr.ir.dtypes import BOOL, DType
from texpr.support.errors import CallError

_FLOAT: Any = DEFAULTS["real floating"]
_INT: Any = DEFAULTS["integral"]


def _of_numbers(*numbers: Any) -> DType:
    """The default data type of numbers."""
    if any(isinstance(n, complex) for n in numbers):
        raise CallError(
            "there are no complex numbers", code="dtype", help="pairs of floats, along an axis of 2"
        )
    if all(isinstance(n, bool | np.bool_) for n in numbers):
        return BOOL
    return _INT if all(isinstance(n, int | np.integer) for n in numbers) else _FLOAT


def _wanted(dtype: Any, default: DType) -> DType:
    return default if dtype is None else dtype_named(dtype)


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Tensor of a number, nested lists, an array, or a tensor.

    Args:
        dtype: None for that of the data; of numbers of Python bool, i64 or f64.
        copy: True for values of its own; False for the memory of `obj`; None shares where it can.
    Raises:
        ValueError: a copy is needed and not allowed.
        CallError: complex numbers; numbers that `dtype` does not hold.
    Example:
        >>> tx.array_api.asarray([1, 2])
        tensor([1, 2], i64[2])
    """
    if isinstance(obj, complex) or getattr(obj, "dtype", None) in (np.dtype("c8"), np.dtype("c16")):
        _of_numbers(1j)
    if isinstance(obj, Tensor):
        found = obj if dtype is None or obj.dtype == dtype_named(dtype) else obj.astype(dtype_named(dtype))
        found = found if device is None else found.to(device)
        if copy is False and found is not obj:
            raise ValueError("a copy is needed for another data type or device, and not allowed")
        return found.own() if copy and found is obj else found
    return _of_data(obj, None if dtype is None else dtype_named(dtype), device, copy)


def _of_data(obj: Any, t: DType | None, device: str | None, copy: bool | None) -> Tensor:
    """A tensor of what is none yet."""
    shares = hasattr(obj, "__array_interface__") or hasattr(obj, "__dlpack__")
    if not shares:
        try:
            memoryview(obj)
        except TypeError:
            pass
        else:
            obj, shares = np.asarray(obj), True
    array = np.asarray(obj) if not hasattr(obj, "__dlpack__") or isinstance(obj, np.ndarray) else obj
    found = tensor(array, t, device=device) if copy else as_tensor(array, t, device=device)
    if copy is False and not (
        isinstance(array, np.ndarray) and shares and np.shares_memory(found.numpy(), array)
    ):
        raise ValueError("a copy is needed for these data, and not allowed")
    return found


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Tensor over the memory of another library's, where that lies.

    Args:
        device: where the result is to lie.
        copy: True for memory of its own; False refuses to move.
    Raises:
        BufferError: a copy is needed and not allowed.
        CallError: it is of a data type or layout that cannot be handed over.
    Example:
        >>> tx.array_api.from_dlpack(np.arange(3))
        tensor([0, 1, 2], i64[3])
    """
    found = _from_dlpack(x)
    if device is not None and found.to(device) is not found:
        if copy is False:
            raise BufferError(f"a tensor on {found.device} is asked for on {device}, without a copy")
        return found.to(device)
    return tensor(found.numpy().copy(), found.dtype) if copy else found


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> Tensor:
    """Numbers at equal distances: from `start` up to, but not including, `stop`; from 0 if one number
    is given.

    Example:
        >>> tx.array_api.arange(2, 8, 3)
        tensor([2, 5], i64[2])
    """
    numbers = (start, step) if stop is None else (start, stop, step)
    return creation.arange(start, stop, step, dtype=_wanted(dtype, _of_numbers(*numbers)), device=device)


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances.

    Example:
        >>> tx.array_api.linspace(0, 1, 3)
        tensor([0. , 0.5, 1. ], f64[3])
    """
    t = _wanted(dtype, _FLOAT)
    return creation.linspace(start, stop, num, endpoint=endpoint, dtype=t, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Tensor of one number.

    Example:
        >>> tx.array_api.full((2,), 7)
        tensor([7, 7], i64[2])
    """
    t = _wanted(dtype, _of_numbers(fill_value))
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return creation.full(shape if isinstance(shape, int) else tuple(shape), value, dtype=t, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Tensor of zeros.

    Example:
        >>> tx.array_api.zeros(2)
        tensor([0., 0.], f64[2])
    """
    return full(shape, 0, dtype=_wanted(dtype, _FLOAT), device=device)


def ones(shape: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Tensor of ones.

    Example:
        >>> tx.array_api.ones(2)
        tensor([1., 1.], f64[2])
    """
    return full(shape, 1, dtype=_wanted(dtype, _FLOAT), device=device)


def empty(shape: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Tensor whose values nobody should rely on: zeros.

    Example:
        >>> tx.array_api.empty((2, 3)).shape
        (2, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One number in the shape, data type and place of another tensor.

    Example:
        >>> xp = tx.array_api
        >>> xp.full_like(xp.asarray([5, 6]), 7)
        tensor([7, 7], i64[2])
    """
    t = _wanted(dtype, x.dtype)
    return full(x.shape, fill_value, dtype=t, device=x.device if device is None else device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros in the shape, data type and place of another tensor.

    Example:
        >>> xp = tx.array_api
        >>> xp.zeros_like(xp.asarray([5, 6]))
        tensor([0, 0], i64[2])
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones in the shape, data type and place of another tensor.

    Example:
        >>> xp = tx.array_api
        >>> xp.ones_like(xp.asarray([5, 6]))
        tensor([1, 1], i64[2])
    """
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Tensor whose values nobody should rely on, in the shape of another: zeros.

    Example:
        >>> xp = tx.array_api
        >>> xp.empty_like(xp.asarray([5, 6])).shape
        (2,)
    """
    return full_like(x, 0, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: str | None = None
) -> Tensor:
    """Matrix with ones on a diagonal, `k` places right of the main one.

    Example:
        >>> tx.array_api.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return creation.eye(n_rows, n_cols, k=k, dtype=_wanted(dtype, _FLOAT), device=device)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Vectors as coordinates of a grid; "xy" exchanges the first two axes.

    Example:
        >>> xp = tx.array_api
        >>> x, y = xp.meshgrid(xp.arange(3), xp.arange(2))
        >>> x.shape
        (2, 3)
    """
    return list(creation.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with 0 above a diagonal.

    Example:
        >>> xp = tx.array_api
        >>> xp.tril(xp.ones((2, 2))).tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    return rearranging.on_side(x, k, upper=False)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with 0 below a diagonal.

    Example:
        >>> xp = tx.array_api
        >>> xp.triu(xp.ones((2, 2))).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    return rearranging.on_side(x, k, upper=True)
