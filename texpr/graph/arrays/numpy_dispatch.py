"""NumPy's functions called on tensors: `np.concatenate([x, y])` is an operator that passes
gradients on.

NumPy itself calls methods where tensors have them, `x.sum()` for `np.sum(x)`. Other functions
compute on the values of tensors, as `np.asarray(x)` gives them; where a gradient would be lost so,
they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Signature, signature
from string import ascii_letters
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.array_functions import cast_any, common_dtype, is_number, operand
from texpr.graph.arrays.recorded import Recorded
from texpr.graph.arrays.recording import is_recording
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError
from texpr.support.tracebacks import forwards

_CONSTANTS = {np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copy}
"""Functions whose results need no gradient: they are constants, or values by their name."""


def dispatch(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of a function of NumPy's for arguments among which are tensors: tensors, if there
    is an operator for it.

    Raises:
        CallError: it gives floats without a gradient, of a tensor that requires one; an operator
            refuses the arguments.
    """
    if arguments and function in FUNCTIONS and isinstance(arguments[0], Recorded):
        return arguments[0].recorded_call(_method(function), tuple(arguments[1:]), dict(options))
    return _run(function, arguments, options)


@cache
def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's as a method of its first argument; the same object each time."""
    return lambda *arguments, **options: _run(function, arguments, options)


@forwards
def _run(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    own = _own(function, arguments, options)
    if own is not None and (result := own(*arguments, **options)) is not NotImplemented:
        return result
    found = function._implementation(*arguments, **options)  # type: ignore[attr-defined]
    if (
        function not in _CONSTANTS
        and is_recording()
        and _has_floats(found)
        and any(map(_requires_gradient, _leaves([arguments, options])))
    ):
        name = f"{function.__module__}.{function.__name__}"
        raise CallError(
            f"{name} of a tensor that requires a gradient: NumPy computes on the values, and none would flow",
            code="gradient",
            help=f"{name}(x.detach()) for the values, or an operator of texpr.ops",
        )
    return found


def _own(
    function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """The function of tensors in place of a function of NumPy's, if it takes such arguments."""
    own = FUNCTIONS.get(function)
    if own is not None:
        try:
            _signature(own).bind(*arguments, **options)
        except TypeError:
            return None
    return own


@cache
def _signature(function: Callable[..., Any]) -> Signature:
    return signature(function)


def _leaves(values: Any) -> Iterator[Any]:
    stack = [values]
    while stack:
        value = stack.pop()
        if isinstance(value, list | tuple):
            stack += value
        elif isinstance(value, Mapping):
            stack += value.values()
        else:
            yield value


def _requires_gradient(value: Any) -> bool:
    return bool(getattr(value, "requires_grad", False)) and not getattr(value, "stops", False)


def _has_floats(found: Any) -> bool:
    return any(isinstance(v, np.ndarray | np.generic) and v.dtype.kind in "fcV" for v in _leaves(found))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if is_number(x) and is_number(y):
        x, y = _strong(x), _strong(y)
    return array_functions.where(condition, x, y)


def _strong(x: Any) -> Any:
    """An operand whose dtype counts in promotion: NumPy's functions take a number as an array."""
    found = operand(x)
    return np.asarray(found) if is_number(found) else found


def _alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays as operands of one dtype."""
    given = [_strong(a) for a in arrays]
    t = common_dtype(*given)
    return [cast_any(a, t) for a in given]


def _concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    given = _alike(arrays)
    if axis is None:
        given, axis = [a.reshape(-1) for a in given], 0
    return _joined(ops.concat, given, axis, len(given[0].shape))


def _stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    if axis is None:
        return NotImplemented
    given = _alike(arrays)
    return _joined(ops.stack, given, axis, len(given[0].shape) + 1)


def _joined(operator: Callable[..., Any], given: list[Any], axis: int, rank: int) -> Any:
    (place,) = array_functions.axes_of(axis, rank)
    return (
        operator(given, axis=place)
        if len(given) > 1 or operator is ops.stack
        else array_functions.itself(given[0])
    )


def _vstack(tup: Sequence[Any]) -> Any:
    return _concatenate([a.reshape(1, -1) if len(a.shape) < 2 else a for a in _alike(tup)])


def _hstack(tup: Sequence[Any]) -> Any:
    given = [a.reshape(-1) if not a.shape else a for a in _alike(tup)]
    return _concatenate(given, 0 if len(given[0].shape) == 1 else 1)


def _einsum(subscripts: str, *operands: Any, optimize: object = False) -> Any:
    """A single sum, whatever NumPy would cut it into."""
    del optimize
    given = _alike(operands) if isinstance(subscripts, str) else []
    return ops.einsum(subscripts, *given) if given and given[0].dtype != BOOL else NotImplemented


def _dot(a: Any, b: Any) -> Any:
    x, y = _strong(a), _strong(b)
    if not x.shape or not y.shape:
        return x * y
    return array_functions.matmul(x, y) if len(y.shape) <= 2 else _tensordot(x, y, (-1, -2))


def _inner(a: Any, b: Any) -> Any:
    x, y = _strong(a), _strong(b)
    return x * y if not x.shape or not y.shape else _tensordot(x, y, (-1, -1))


def _outer(a: Any, b: Any) -> Any:
    x, y = _alike([a, b])
    return x.reshape(-1, 1) * y.reshape(1, -1)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = _alike([a, b])
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    over = [_places(each, len(v.shape)) for each, v in zip(axes, (x, y), strict=True)]
    if (
        x.dtype == BOOL
        or None in over
        or [x.shape[k] for k in over[0] or ()] != [y.shape[k] for k in over[1] or ()]
    ):
        return NotImplemented
    names = iter(ascii_letters)
    left = [next(names) for _ in x.shape]
    right = [left[over[0][over[1].index(k)]] if k in over[1] else next(names) for k in range(len(y.shape))]
    kept = [n for k, n in enumerate(left) if k not in over[0]] + [
        n for k, n in enumerate(right) if k not in over[1]
    ]
    return ops.einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x, y)


def _norm(x: Any, ord: object = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """The root of the sum of squares, of all elements or along one or two axes."""
    if ord is not None or isinstance(axis, tuple) and len(axis) != 2:
        return NotImplemented
    v = operand(x)
    v = v if v.dtype.is_float else v.astype("f64")
    squares = (v * v).sum(axis, keepdims=keepdims)
    positive = (
        squares > 0
    )  # The root of 0 has no derivative; that of a norm of nothing is 0, as torch has it.
    return array_functions.where(
        positive | squares.isnan(), array_functions.where(squares != 0, squares, 1).sqrt(), 0
    )


def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    x, rank = operand(a), len(a.shape)
    pairs = [_places(each, rank) for each in (source, destination)]
    if None in pairs or len(pairs[0]) != len(pairs[1]):
        return NotImplemented
    order = [k for k in range(rank) if k not in pairs[0]]
    for to, k in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(to, k)
    return x.transpose(order)


def _places(axes: Any, rank: int) -> Any:
    """Axes counted from the start, in the order given; None where one is not there, or there
    twice.
    """
    given = [axes] if isinstance(axes, int) else list(axes)
    found = [n + rank if n < 0 else n for n in given]
    return found if all(0 <= n < rank for n in found) and len(set(found)) == len(found) else None


def _flip(m: Any, axis: Any = None) -> Any:
    x = operand(m)
    turned = array_functions.axes_of(axis, len(x.shape))
    return x[tuple(slice(None, None, -1) if k in turned else slice(None) for k in range(len(x.shape)))]


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    x = operand(a)
    indices = indices if hasattr(indices, "dtype") else np.asarray(indices)
    if indices.dtype in (BOOL, np.dtype(bool)):
        return NotImplemented
    if axis is None:
        return x.reshape(-1)[indices]
    (place,) = array_functions.axes_of(axis, len(x.shape))
    return x[(*[slice(None)] * place, indices)]


def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    x = operand(a)
    if n < 0 or x.dtype == BOOL:
        return NotImplemented
    (place,) = array_functions.axes_of(axis, len(x.shape))
    before = [slice(None)] * place
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: _where,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: _vstack,
    np.hstack: _hstack,
    np.einsum: _einsum,
    np.dot: _dot,
    np.inner: _inner,
    np.outer: _outer,
    np.tensordot: _tensordot,
    np.linalg.norm: _norm,
    np.moveaxis: _moveaxis,
    np.flip: _flip,
    np.take: _take,
    np.diff: _diff,
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: len(a.shape),
    np.size: lambda a: a.size,
    np.ravel: lambda a: operand(a).flatten(),
    np.expand_dims: lambda a, axis: operand(a).expand_dims(axis),
    np.broadcast_to: lambda array, shape: operand(array).broadcast_to(shape),
}
"""Functions of tensors in place of NumPy's. Arguments without an operator (NotImplemented, or
unknown) are left to NumPy's own.
"""
