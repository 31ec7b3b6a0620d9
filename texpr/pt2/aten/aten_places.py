"""Operators that take elements from places, put them there, or order them."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.ir.dtypes import BOOL, I32, I64
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import each


def _key(call: Call, self: Any, indices: list[Any]) -> tuple[Any, ...]:
    """Places on each axis; those that are not given are all."""
    if any(isinstance(i, Symbolic) and i.dtype == BOOL for i in indices):
        raise call.refuse("a mask whose number of elements decides the shape of the result")
    return tuple(slice(None) if i is None else i for i in indices)


@aten("index", "_unsafe_index")
def _index(call: Call, self: Any, indices: list[Any]) -> Any:
    return self[_key(call, self, indices)]


@aten("index_put", "_unsafe_index_put")
def _index_put(call: Call, self: Any, indices: list[Any], values: Any, accumulate: bool = False) -> Any:
    masks = [i for i in indices if i is not None]
    if len(masks) == 1 and indices[0] is not None and masks[0].dtype == BOOL and not values.ndim:
        mask = masks[0].reshape(*masks[0].shape, *[1] * (self.ndim - masks[0].ndim))
        if not accumulate:
            return self.masked_fill(mask, values)
        return each("index_put", "if {0} then {1} + {2} else {1}", mask, self, values, result=self.dtype)
    key = _key(call, self, indices)
    if len(masks) != 1 or masks[0].ndim != 1:
        raise call.refuse("places on several axes", help="write them with scatter")
    axis = next(k for k, i in enumerate(indices) if i is not None)
    places = _whole(key[axis], self.shape[axis])
    shape = (*self.shape[:axis], places.shape[0], *self.shape[axis + 1 :])
    spread = places.reshape(*[-1 if k == axis else 1 for k in range(self.ndim)]).broadcast_to(shape)
    operator = ops.scatter_add if accumulate else ops.scatter
    return operator(self, spread, values.astype(self.dtype).broadcast_to(shape), axis=axis)


def _whole(places: Any, extent: int) -> Any:
    """Places counted from the start."""
    return each("places", f"if {{0}} < 0 then {{0}} + {extent} else {{0}}", places, result=I64, computed=I64)


@aten("index_select")
def _index_select(call: Call, self: Any, dim: int, index: Any) -> Any:
    return self.index_select(dim, index) if self.ndim else self


@aten("gather")
def _gather(call: Call, self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    if not self.ndim:
        return self
    return self.gather(dim, index) if _same_besides(self, index, dim) else _part(self, index, dim)


def _same_besides(x: Any, index: Any, dim: int) -> bool:
    k = dim % x.ndim
    return x.shape[:k] + x.shape[k + 1 :] == index.shape[:k] + index.shape[k + 1 :]


def _part(x: Any, index: Any, dim: int) -> Any:
    """`gather` where the index is shorter than the tensor on other axes: it reads their beginning."""
    k = dim % x.ndim
    key = tuple(slice(None) if axis == k else slice(n) for axis, n in enumerate(index.shape))
    return x[key].gather(dim, index)


@aten("take_along_dim")
def _take_along(call: Call, self: Any, indices: Any, dim: int | None = None) -> Any:
    return np.take_along_axis(self, indices, dim)


@aten("scatter")
def _scatter(
    call: Call, self: Any, dim: int, index: Any, src: Any = None, value: Any = None, reduce: str | None = None
) -> Any:
    given = (
        call.constant(np.asarray(value)).astype(self.dtype).broadcast_to(index.shape) if src is None else src
    )
    name = {None: "scatter", "add": "scatter_add", "multiply": "scatter_multiply"}[reduce]
    return _put(call, self, dim, index, given, name)


@aten("scatter_add")
def _scatter_add(call: Call, self: Any, dim: int, index: Any, src: Any) -> Any:
    return _put(call, self, dim, index, src, "scatter_add")


_REDUCED = {"sum": "scatter_add", "prod": "scatter_multiply", "amax": "scatter_max", "amin": "scatter_min"}


@aten("scatter_reduce")
def _scatter_reduce(
    call: Call, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    if reduce not in _REDUCED or not include_self:
        raise call.refuse(f"{reduce} without the tensor itself" if not include_self else reduce)
    return _put(call, self, dim, index, src, _REDUCED[reduce])


def _put(call: Call, x: Any, dim: int, index: Any, values: Any, name: str) -> Any:
    if not _same_besides(x, index, dim):
        raise call.refuse(f"an index of shape {list(index.shape)} for a tensor of {list(x.shape)}")
    part = values[tuple(slice(n) for n in index.shape)] if values.shape != index.shape else values
    return getattr(ops, name)(x, index.astype(I64), part.astype(x.dtype), axis=dim % x.ndim)


@aten("index_add")
def _index_add(call: Call, self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    axis = dim % self.ndim
    spread = index.reshape(*[-1 if k == axis else 1 for k in range(self.ndim)]).broadcast_to(source.shape)
    return _put(call, self, dim, spread, source if alpha == 1 else source * alpha, "scatter_add")


@aten("embedding")
def _embedding(
    call: Call,
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    places = indices.astype(I64)
    if padding_idx >= 0:
        return ops.embedding_padded(weight, places, padding=padding_idx)
    return ops.embedding(weight, places)


@aten("sort")
def _sort(call: Call, self: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    return self.sort(dim, descending), self.argsort(dim, descending)


@aten("argsort")
def _argsort(call: Call, self: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    return self.argsort(dim, descending)


@aten("topk")
def _topk(
    call: Call,
    self: Any,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
) -> Any:
    values, places = self.topk(k, dim, largest)
    return values, places


@aten("searchsorted")
def _searchsorted(
    call: Call,
    sorted_sequence: Any,
    self: Any,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    if sorted_sequence.ndim != 1:
        raise call.refuse("rows of sorted numbers", help="search in one row at a time")
    found = np.searchsorted(sorted_sequence, self, side or ("right" if right else "left"), sorter)
    return found.astype(I32 if out_int32 else I64)


@aten("bucketize")
def _bucketize(call: Call, self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    return _searchsorted(call, boundaries, self, out_int32, right)
