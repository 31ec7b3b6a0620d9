"""Operations that layers share when they apply operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.ir.dtypes import numpy_dtype, stored
from texpr.nn.core.argument_checks import float_dtype
from texpr.nn.core.bare_parameters import bare_dtype, one_zero
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer, Parameter
from texpr.support.errors import CallError


def parameter(layer: Module, name: str, shape: Sequence[int], dtype: object, value: float = 0.0) -> Parameter:
    """A parameter of a layer, all elements `value` at first."""
    wanted = float_dtype(type(layer).__name__, dtype)
    bare = bare_dtype.get()
    if bare is not None:
        return Parameter(one_zero(shape, bare), name=name, dtype=bare)
    return Parameter(stored(np.full(tuple(shape), value), wanted), name=name, dtype=wanted)


def buffer(layer: Module, name: str, size: int, dtype: object, value: float = 0.0) -> Buffer:
    """A buffer of a layer in one dimension, all elements `value` at first."""
    wanted = float_dtype(type(layer).__name__, dtype)
    return Buffer(stored(np.full(size, value), wanted), name=name, dtype=wanted)


def present(**inputs: Any) -> dict[str, Any]:
    """The inputs that are not None, by name: an operator has defaults for the others."""
    return {name: value for name, value in inputs.items() if value is not None}


def with_batch(layer: Module, x: Any, ndim: int, function: Callable[[Any], Any]) -> Any:
    """A function of a tensor whose first axis is the batch, also for one without that axis.

    Raises:
        CallError: the input has another number of dimensions.
    """
    if x.ndim == ndim:
        return function(x)
    if x.ndim == ndim - 1:
        return without_batch(function(ops.expand(x, axis=0, times=1)))
    raise CallError(
        f"{type(layer).__name__}: the input has {x.ndim} dimensions, expected {ndim}, or {ndim - 1} without "
        f"a batch",
        code="rank",
    )


def without_batch(x: Any, axis: int = 0) -> Any:
    """A tensor without an axis of length 1."""
    return ops.pick(x, axis=axis)


def zeros(like: Symbolic, shape: Sequence[int]) -> Symbolic:
    """A constant of the same program and dtype."""
    return like.capture.constant(np.zeros(tuple(shape), numpy_dtype(like.dtype)), "zeros", like.dtype)


def broadcast(x: Symbolic, shape: Sequence[int]) -> Symbolic:
    """A tensor repeated along axes that it does not have, or has with length 1, so that it gets
    this shape.

    Raises:
        CallError: its other axes have other lengths.
    """
    while x.ndim < len(shape):
        x = ops.expand(x, axis=0, times=1)  # type: ignore[assignment]
    for axis, size in enumerate(shape):
        if x.shape[axis] == 1 and size != 1:
            x = ops.expand(without_batch(x, axis), axis=axis, times=size)  # type: ignore[assignment]
    if x.shape != tuple(shape):
        raise CallError(
            f"a tensor of shape {list(x.shape)} cannot be repeated to {list(shape)}", code="shape"
        )
    return x
