"""NumPy's functions called on tensors: `np.concatenate([x, y])` is an operator that passes
gradients on.

NumPy itself calls some methods, `x.sum()` for `np.sum(x)`. Functions without an operator
compute on the values of tensors, as `np.asarray(x)` gives them; where a gradient would be lost so,
they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Signature, signature
from typing import Any

import numpy as np

from texpr.graph.arrays.joins_and_splits import JOINS_AND_SPLITS
from texpr.graph.arrays.per_element import PER_ELEMENT
from texpr.graph.arrays.rearranging import REARRANGING
from texpr.graph.arrays.recorded import Recorded
from texpr.graph.arrays.recording import is_recording
from texpr.graph.arrays.statistics import STATISTICS
from texpr.graph.arrays.sums_of_products import SUMS_OF_PRODUCTS
from texpr.support.errors import CallError
from texpr.support.tracebacks import forwards

_CONSTANTS = {np.copy, np.array2string, np.array_repr, np.array_str, np.full_like}
"""Functions whose results need no gradient: they are constants, or values by their name."""

_BY_METHODS = {
    *(np.all, np.any, np.amax, np.amin, np.max, np.min, np.sum, np.prod, np.mean, np.var, np.std),
    *(np.argmax, np.argmin, np.cumsum, np.cumprod, np.reshape, np.swapaxes, np.transpose),
}
"""Functions that call the method of their name."""
_WRITES = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
"""Functions that change their first argument."""


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
    if function in _WRITES and arguments and not isinstance(arguments[0], np.ndarray):
        raise CallError(
            f"{_name(function)} writes into a tensor",
            code="arguments",
            help="x[...] = values gives the name another value, tx.where chooses between two",
        )
    own = _own(function, arguments, options)
    if own is not None and (result := own(*arguments, **options)) is not NotImplemented:
        return result
    if function in _BY_METHODS:
        return function._implementation(*arguments, **options)  # type: ignore[attr-defined]
    given, named = _values(list(arguments)), _values(dict(options))
    found = function._implementation(*given, **named)  # type: ignore[attr-defined]
    if (
        function not in _CONSTANTS
        and is_recording()
        and _has_floats(found)
        and any(map(_requires_gradient, _leaves([arguments, options])))
    ):
        name = _name(function)
        raise CallError(
            f"{name} of a tensor that requires a gradient: NumPy computes on the values, and none would flow",
            code="gradient",
            help=f"{name}(x.detach()) for the values, or an operator of texpr.ops",
        )
    return found


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__name__}"


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


def _values(value: Any) -> Any:
    """Arguments with arrays in the place of tensors and parameters."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(_values, value))
    if isinstance(value, dict):
        return {key: _values(each) for key, each in value.items()}
    return (
        np.asarray(value)
        if hasattr(type(value), "__array_function__") and type(value) is not np.ndarray
        else value
    )


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


def _resolved(name: str) -> Callable[..., Any] | None:
    """The function of NumPy's of a name, such as `linalg.norm`; older ones lack some."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    function: own
    for name, own in {
        **JOINS_AND_SPLITS,
        **REARRANGING,
        **SUMS_OF_PRODUCTS,
        **STATISTICS,
        **PER_ELEMENT,
    }.items()
    if (function := _resolved(name)) is not None
}
"""Functions of tensors in place of NumPy's. Arguments without an operator (NotImplemented, or
unknown) are left to NumPy's own.
"""
