"""Reductions along axes, whose extents become 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from texpr import ops
from texpr.ir.dtypes import I64
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import each


@operation("sum_reduce")
def _sum(about: Operation, input: Any, axes: Sequence[int], normalize: bool) -> Any:  # noqa: A002
    chosen = about.axes(axes, input.ndim)
    if not chosen:
        return input
    return input.mean(chosen, keepdims=True) if normalize else _kept(input, input.sum(chosen, keepdims=True))


def _kept(x: Any, found: Any) -> Any:
    return found if found.dtype == x.dtype else found.astype(x.dtype.name)


_METHODS = {
    "max_reduce": "max",
    "min_reduce": "min",
    "mean_reduce": "mean",
    "any_reduce": "any",
    "all_reduce": "all",
    "tract_core_product_reduce": "prod",
}


@operation(*_METHODS)
def _reduced(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    chosen = about.axes(axes, input.ndim)
    if not chosen:
        return input
    return _kept(input, getattr(input, _METHODS[about.name])(chosen, keepdims=True))


@operation("argmax_reduce", "argmin_reduce", "tract_core_argmax_reduce_last", "tract_core_argmin_reduce_last")
def _place(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    """Over several axes, places count through them in order."""
    chosen = about.axes(axes, input.ndim)
    if not chosen:
        raise about.refuse("no axes")
    if chosen != tuple(range(chosen[0], chosen[-1] + 1)):
        raise about.refuse(f"axes {list(axes)} are not beside each other")
    shape = input.shape
    count = prod(shape[a] for a in chosen)
    flat = input.reshape(*shape[: chosen[0]], count, *shape[chosen[-1] + 1 :])
    kept = [1 if k in chosen else n for k, n in enumerate(shape)]
    name = "argmax" if "max" in about.name else "argmin"
    if not about.name.endswith("last"):
        return getattr(flat, name)(axis=chosen[0], keepdims=True).reshape(*kept)
    back = getattr(ops.flip(flat, axis=chosen[0]), name)(axis=chosen[0], keepdims=True)
    return each("last", f"{count - 1} - {{0}}", back, result=I64).reshape(*kept)


@operation("softmax", "tract_core_softmax", "tract_core_log_softmax")
def _softmax(about: Operation, axes: Any, x: Any = None, input: Any = None, **_: Any) -> Any:  # noqa: A002
    given = input if x is None else x
    chosen = about.axes([axes] if isinstance(axes, int) else axes, given.ndim)
    computed = ops.log_softmax if "log" in about.name else ops.softmax
    if len(chosen) == 1:
        return computed(given, axis=chosen[0])
    rest = [k for k in range(given.ndim) if k not in chosen]
    order = [*rest, *chosen]
    turned = given.transpose(*order)
    flat = turned.reshape(*(given.shape[k] for k in rest), prod(given.shape[k] for k in chosen))
    back = [order.index(k) for k in range(given.ndim)]
    return computed(flat, axis=flat.ndim - 1).reshape(*turned.shape).transpose(*back)
