"""Reductions over axes, and running sums."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import BOOL, I64, DType
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import as_float


def _axes(dim: Any) -> tuple[int, ...] | None:
    """Axes as methods take them; no axes mean all of them."""
    if dim is None or dim == []:
        return None
    return tuple(dim) if isinstance(dim, list) else (dim,)


def _sum_type(x: Any, dtype: DType | None) -> DType:
    return dtype or (x.dtype if x.dtype.is_float else I64)


@aten("sum")
def _sum(call: Call, self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Any:
    return self.astype(_sum_type(self, dtype)).sum(_axes(dim), keepdims=keepdim)


@aten("mean")
def _mean(call: Call, self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Any:
    return self.astype(dtype or as_float(self.dtype)).mean(_axes(dim), keepdims=keepdim)


@aten("prod")
def _prod(call: Call, self: Any, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Any:
    return self.astype(_sum_type(self, dtype)).prod(_axes(dim), keepdims=keepdim)


@aten("amax")
def _amax(call: Call, self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    return self.max(_axes(list(dim)), keepdims=keepdim)


@aten("amin")
def _amin(call: Call, self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    return self.min(_axes(list(dim)), keepdims=keepdim)


@aten("aminmax")
def _aminmax(call: Call, self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return self.min(_axes(dim), keepdims=keepdim), self.max(_axes(dim), keepdims=keepdim)


@aten("max")
def _max(call: Call, self: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    if other is not None:
        return self.maximum(other)
    if dim is None:
        return self.max()
    return self.max(_axes(dim), keepdims=keepdim), self.argmax(dim, keepdims=keepdim)


@aten("min")
def _min(call: Call, self: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    if other is not None:
        return self.minimum(other)
    if dim is None:
        return self.min()
    return self.min(_axes(dim), keepdims=keepdim), self.argmin(dim, keepdims=keepdim)


@aten("argmax")
def _argmax(call: Call, self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return self.argmax(dim, keepdims=keepdim)


@aten("argmin")
def _argmin(call: Call, self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return self.argmin(dim, keepdims=keepdim)


@aten("any")
def _any(call: Call, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return self.astype(BOOL).any(_axes(dim), keepdims=keepdim)


@aten("all")
def _all(call: Call, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return self.astype(BOOL).all(_axes(dim), keepdims=keepdim)


def _correction(unbiased: bool, correction: Any, dim: Any) -> Any:
    if isinstance(dim, bool):  # the overload of all axes says `unbiased` in the place of `dim`
        return int(dim)
    return (1 if unbiased else 0) if correction is None else correction


@aten("var")
def _var(
    call: Call,
    self: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    axes = None if isinstance(dim, bool) else _axes(dim)
    return self.var(axes, keepdims=keepdim, ddof=_correction(unbiased, correction, dim))


@aten("std")
def _std(
    call: Call,
    self: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    axes = None if isinstance(dim, bool) else _axes(dim)
    return self.std(axes, keepdims=keepdim, ddof=_correction(unbiased, correction, dim))


@aten("var_mean")
def _var_mean(
    call: Call,
    self: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    axes = None if isinstance(dim, bool) else _axes(dim)
    return _var(call, self, dim, unbiased, keepdim, correction), self.mean(axes, keepdims=keepdim)


@aten("std_mean")
def _std_mean(
    call: Call,
    self: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: Any = None,
) -> Any:
    axes = None if isinstance(dim, bool) else _axes(dim)
    return _std(call, self, dim, unbiased, keepdim, correction), self.mean(axes, keepdims=keepdim)


@aten("cumsum")
def _cumsum(call: Call, self: Any, dim: int, dtype: DType | None = None) -> Any:
    return self.astype(_sum_type(self, dtype)).cumsum(dim)


@aten("cumprod")
def _cumprod(call: Call, self: Any, dim: int, dtype: DType | None = None) -> Any:
    return self.astype(_sum_type(self, dtype)).cumprod(dim)


@aten("cummax")
def _cummax(call: Call, self: Any, dim: int) -> Any:
    return ops.cummax_places(self, axis=dim % self.ndim)


@aten("cummin")
def _cummin(call: Call, self: Any, dim: int) -> Any:
    return ops.cummin_places(self, axis=dim % self.ndim)


@aten("logcumsumexp")
def _logcumsumexp(call: Call, self: Any, dim: int) -> Any:
    return ops.logcumsumexp(self, axis=dim % self.ndim)


@aten("logsumexp")
def _logsumexp(call: Call, self: Any, dim: Any, keepdim: bool = False) -> Any:
    return self.logsumexp(_axes(dim), keepdims=keepdim)


@aten("linalg_vector_norm", "norm")
def _norm(
    call: Call,
    self: Any,
    ord: Any = 2,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    p: Any = None,
) -> Any:
    order = ord if p is None else p
    return self.astype(dtype or self.dtype).norm(order, _axes(dim), keepdims=keepdim)


@aten("count_nonzero")
def _count(call: Call, self: Any, dim: Any = None) -> Any:
    return (self != 0).astype(I64).sum(_axes(dim))


@aten("softmax", "_softmax")
def _softmax(call: Call, self: Any, dim: int, dtype: DType | None = None, half_to_float: bool = False) -> Any:
    x = self.astype(dtype or as_float(self.dtype))
    return ops.softmax(x, axis=dim % x.ndim) if x.ndim and prod(x.shape) else x


@aten("log_softmax", "_log_softmax")
def _log_softmax(
    call: Call, self: Any, dim: int, dtype: DType | None = None, half_to_float: bool = False
) -> Any:
    x = self.astype(dtype or as_float(self.dtype))
    return ops.log_softmax(x, axis=dim % x.ndim) if x.ndim and prod(x.shape) else x


@aten("cosine_similarity")
def _cosine(call: Call, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    a, b = x1.broadcast_to(shape), x2.broadcast_to(shape)
    return ops.cosine_similarity(a, b, axis=dim % len(shape), eps=float(eps))
