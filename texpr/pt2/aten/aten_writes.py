"""Writes into views: the first argument of a view with other values in the view's place."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.graph import Symbolic
from texpr.pt2.converters_of_aten import writes


def put(x: Any, dim: int, item: Any, value: Any) -> Any:
    """A tensor with other values at a slice or an index of an axis."""
    new: Symbolic = x.own()
    new[(slice(None),) * (dim % x.ndim) + (item,)] = value.astype(x.dtype)
    return new


@writes(
    *"view _unsafe_view _reshape_alias view_as reshape reshape_as flatten unflatten squeeze unsqueeze".split(),
    *"contiguous to type_as atleast_1d".split(),
)
def _reshaped(x: Any, value: Any, place: int, **_: Any) -> Any:
    return value.reshape(x.shape)


@writes("permute")
def _permuted(x: Any, value: Any, place: int, dims: list[int]) -> Any:
    order = [d % x.ndim for d in dims]
    return value.transpose(tuple(order.index(k) for k in range(x.ndim))) if order else value


@writes("transpose", "swapaxes", "swapdims")
def _transposed(
    x: Any, value: Any, place: int, dim0: int = 0, dim1: int = 0, axis0: int = 0, axis1: int = 0
) -> Any:
    return value.swapaxes(dim0 or axis0, dim1 or axis1) if x.ndim else value


@writes("t", "numpy_T")
def _turned(x: Any, value: Any, place: int) -> Any:
    return value.T if x.ndim > 1 else value


@writes("mT", "adjoint")
def _turned_matrices(x: Any, value: Any, place: int) -> Any:
    return value.swapaxes(-1, -2)


@writes("movedim", "moveaxis")
def _moved(x: Any, value: Any, place: int, source: Any, destination: Any) -> Any:
    return np.moveaxis(value, destination, source)


@writes("select")
def _selected(x: Any, value: Any, place: int, dim: int, index: int) -> Any:
    return put(x, dim, index, value)


@writes("slice")
def _sliced(
    x: Any,
    value: Any,
    place: int,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    return put(x, dim, slice(start, end, step), value)


@writes("narrow")
def _narrowed(x: Any, value: Any, place: int, dim: int, start: int, length: int) -> Any:
    first = start % x.shape[dim] if start < 0 else start
    return put(x, dim, slice(first, first + length), value)


@writes("unbind")
def _unbound(x: Any, value: Any, place: int, dim: int = 0) -> Any:
    return put(x, dim, place, value)


@writes("split", "split_with_sizes")
def _split(
    x: Any, value: Any, place: int, split_size: Any = None, split_sizes: Any = None, dim: int = 0
) -> Any:
    given = split_sizes if split_size is None else split_size
    first = sum(given[:place]) if isinstance(given, list) else given * place
    return put(x, dim, slice(first, first + value.shape[dim]), value)


@writes("chunk")
def _chunk(x: Any, value: Any, place: int, chunks: int, dim: int = 0) -> Any:
    size = -(-x.shape[dim] // chunks)
    return put(x, dim, slice(size * place, size * place + value.shape[dim]), value)
