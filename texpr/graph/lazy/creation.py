"""Tensors that are made from a shape: zeros, ranges, unit matrices, and functions that join tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from texpr.graph.arrays import array_functions, numpy_dispatch, rearranging
from texpr.graph.arrays.promotion import named
from texpr.graph.arrays.recorded import as_recorded
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import of_bits, tensor
from texpr.ir.dtypes import F32, I64, DType, stored
from texpr.support.errors import CallError
from texpr.support.options import current
from texpr.support.tracebacks import boundary


def extents(shape: Sequence[Any]) -> tuple[int, ...]:
    """A shape that is given as numbers, or as one tuple or list of them.

    Raises:
        CallError: no integers of at least 0.
    """
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if any(isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 0 for n in given):
        raise CallError(
            f"the shape {tuple(given)!r} is not made of integers of at least 0",
            code="shape",
            help="tx.zeros(2, 3), or tx.zeros((2, 3))",
        )
    return tuple(n.__index__() for n in given)


@boundary
def full(
    size: Any,
    fill_value: float,
    *,
    dtype: object = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Tensor of one number; f32 for a float, i64 for an integer, bool for a truth value.

    Args:
        size: the shape.
    Raises:
        CallError: no shape, no number, no dtype, or no device of that name.
        ResourceError: the device is not here, or has not enough memory.
    Example:
        >>> tx.full((2,), 7)
        tensor([7, 7], i64[2])
    """
    t = named(dtype) if dtype is not None else _of_number(fill_value)
    shape = extents((size,) if isinstance(size, tuple | list) else (size,))
    if np.asarray(fill_value).dtype.kind in "USOcmM":
        raise CallError(
            f"the value {fill_value!r} is no real number", code="arguments", help="tx.full((2, 3), 0.5)"
        )
    return _made(np.full(shape, fill_value), t, device, requires_grad)


@boundary
def zeros(
    *size: Any, dtype: object = "f32", device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Tensor of zeros.

    Args:
        size: the extents, as numbers or as one tuple.
        dtype: a name such as "f32".
        device: where the tensor lies, a name; None for what `options(device=...)` says.
        requires_grad: True if `backward()` computes the derivative in it.
    Raises:
        CallError: no shape, no dtype, or no device of that name.
        ResourceError: the device is not here, or has not enough memory.
    Example:
        >>> tx.zeros(2, 3).shape
        (2, 3)
    """
    return full(extents(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def ones(*size: Any, dtype: object = "f32", device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Tensor of ones; arguments as of `zeros`.

    Raises:
        CallError: no shape, no dtype, or no device of that name.
        ResourceError: the device is not here, or has not enough memory.
    Example:
        >>> tx.ones(2).tolist()
        [1.0, 1.0]
    """
    return full(extents(size), 1, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def empty(
    *size: Any, dtype: object = "f32", device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Tensor whose values nobody should rely on: zeros. Arguments as of `zeros`.

    Raises:
        CallError: no shape, no dtype, or no device of that name.
        ResourceError: the device is not here, or has not enough memory.
    Example:
        >>> tx.empty(2, 3).shape
        (2, 3)
    """
    return zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def zeros_like(
    x: Any, *, dtype: object = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Zeros in the shape, dtype and place of another tensor.

    Raises:
        CallError: no tensor, array or number, no dtype, or no device of that name.
    Example:
        >>> tx.zeros_like(tx.tensor([5, 6]))
        tensor([0, 0], i64[2])
    """
    return full_like(x, 0, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def ones_like(
    x: Any, *, dtype: object = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Ones in the shape, dtype and place of another tensor.

    Raises:
        CallError: no tensor, array or number, no dtype, or no device of that name.
    Example:
        >>> tx.ones_like(tx.tensor([5, 6]))
        tensor([1, 1], i64[2])
    """
    return full_like(x, 1, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def empty_like(
    x: Any, *, dtype: object = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Tensor whose values nobody should rely on, in the shape of another: zeros.

    Raises:
        CallError: no tensor, array or number, no dtype, or no device of that name.
    Example:
        >>> tx.empty_like(tx.tensor([5, 6])).shape
        (2,)
    """
    return full_like(x, 0, dtype=dtype, device=device, requires_grad=requires_grad)


@boundary
def full_like(
    x: Any, fill_value: float, *, dtype: object = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """One number in the shape, dtype and place of another tensor.

    Raises:
        CallError: no tensor, array or number, no value, no dtype, or no device of that name.
    Example:
        >>> tx.full_like(tx.tensor([5, 6]), 7)
        tensor([7, 7], i64[2])
    """
    shape, t, place = like(x, dtype, device)
    return full(shape, fill_value, dtype=t, device=place, requires_grad=requires_grad)


def like(x: Any, dtype: object, device: str | None) -> tuple[tuple[int, ...], DType, str | None]:
    """The shape of a tensor, and its dtype and device unless others are given."""
    given = array_functions.operand(x)
    if isinstance(given, bool | int | float):
        given = np.asarray(given)
    t = named(dtype) if dtype is not None else array_functions.dtype_of(given)
    if device is None and not isinstance(given, np.ndarray):
        place = getattr(given, "device", None)
        device = place if isinstance(place, str) else None
    return tuple(given.shape), t, device


@boundary
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: object = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers at equal distances: start, start + step, ... below `stop`; from 0 if one number is
    given.

    i64 for integers, else f32.

    Raises:
        CallError: the step is 0.
    Example:
        >>> tx.arange(2, 8, 3)
        tensor([2, 5], i64[2])
    """
    first, end = (0, start) if stop is None else (start, stop)
    if not step:
        raise CallError("arange with a step of 0", code="arguments")
    whole = all(isinstance(n, int | np.integer) for n in (first, end, step))
    t = named(dtype) if dtype is not None else I64 if whole else F32
    return _made(np.arange(first, end, step), t, device, requires_grad)


@boundary
def linspace(
    start: float,
    stop: float,
    num: int,
    *,
    endpoint: bool = True,
    dtype: object = "f32",
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, that one included unless `endpoint`
    is False.

    Raises:
        CallError: `num` is no integer of at least 0, no dtype, or no device of that name.
    Example:
        >>> tx.linspace(0, 1, 3)
        tensor([0. , 0.5, 1. ], f32[3])
    """
    return _made(
        np.linspace(start, stop, *extents((num,)), endpoint=endpoint), named(dtype), device, requires_grad
    )


@boundary
def eye(
    n: int,
    m: int | None = None,
    *,
    k: int = 0,
    dtype: object = "f32",
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Matrix of n rows and m columns (n unless given) with ones on a diagonal, `k` places right of
    the main one.

    Raises:
        CallError: no numbers of rows and columns, no dtype, or no device of that name.
    Example:
        >>> tx.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    rows, columns = extents((n, n if m is None else m))
    return _made(np.eye(rows, columns, k), named(dtype), device, requires_grad)


@boundary
def concat(tensors: Sequence[Any], axis: int | None = 0, *, dim: int | None = None) -> Tensor:
    """Tensors one behind the other along an axis; None flattens them first. `dim` is another name
    of `axis`.

    Raises:
        CallError: no tensors, or their shapes do not fit.
    Example:
        >>> tx.cat([tx.tensor([1, 2]), tx.tensor([3])])
        tensor([1, 2, 3], i64[3])
    """
    return _joined(np.concatenate, tensors, axis if dim is None else dim)


cat = concat


@boundary
def stack(tensors: Sequence[Any], axis: int = 0, *, dim: int | None = None) -> Tensor:
    """Tensors of one shape side by side along a new axis. `dim` is another name of `axis`.

    Raises:
        CallError: no tensors, or their shapes differ.
    Example:
        >>> tx.stack([tx.tensor([1, 2]), tx.tensor([3, 4])], axis=1).tolist()
        [[1, 3], [2, 4]]
    """
    return _joined(np.stack, tensors, axis if dim is None else dim)


@boundary
def meshgrid(*tensors: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Vectors as coordinates of a grid. The first two axes are exchanged for "xy", as NumPy does by
    default; torch's default is "ij".

    Raises:
        CallError: another `indexing`.
    Example:
        >>> x, y = tx.meshgrid(tx.arange(3), tx.arange(2))
        >>> x.shape, y.tolist()
        ((2, 3), [[0, 0, 0], [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise CallError(f"indexing is {indexing!r}", code="arguments", help='"xy" or "ij"')
    return rearranging.meshgrid(*map(_tensor, tensors), indexing=indexing)


def _joined(function: Any, tensors: Sequence[Any], axis: int | None) -> Tensor:
    if isinstance(axis, Tensor):
        raise CallError(
            f"{function.__name__} takes one list of tensors, and two were given",
            code="arguments",
            help=f"tx.{'stack' if function is np.stack else 'cat'}([x, y], dim=0)",
        )
    given = list(tensors)
    if not given:
        raise CallError(f"{function.__name__} of no tensors", code="arguments")
    return as_recorded(_joining(function), tuple(given), {"axis": axis})


@cache
def _joining(function: Any) -> Callable[..., Any]:
    """A function of NumPy's that joins, of tensors one by one."""
    own = numpy_dispatch.FUNCTIONS[function]
    return lambda *given, axis: own([_tensor(x) for x in given], axis)


def _tensor(x: Any) -> Any:
    found = array_functions.operand(x)
    return tensor(found) if isinstance(found, np.ndarray | bool | int | float) else found


def _of_number(value: object) -> DType:
    return named("bool") if isinstance(value, bool | np.bool_) else I64 if isinstance(value, int) else F32


def _made(array: np.ndarray, t: DType, device: str | None, requires_grad: bool) -> Tensor:
    return of_bits(stored(array, t), t, requires_grad, current().device if device is None else device)
