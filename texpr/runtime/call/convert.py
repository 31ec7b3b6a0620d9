"""From whatever callers pass to arrays that a kernel can read, without changing a value silently.

Arrays must have the argument's dtype; layout, byte order and alignment do not matter. Python
numbers, lists and rank-0 arrays have no
dtype that the caller chose, so they become the argument's if their kind allows it: bool -> int -> float, in range.
"""

from __future__ import annotations

import sys

import numpy as np

from texpr.runtime.call.spec import Argument
from texpr.support.errors import CallError, ResourceError
from texpr.support.warn import warn

_KINDS = "biuf"


def read_input(value: object, argument: Argument) -> np.ndarray:
    """A C-contiguous array of `argument`'s dtype and rank with the elements of `value`; a view of
    it where possible.

    Raises:
        CallError: `value` is no array, or one of another dtype or rank.
        ResourceError: it needs a copy, for which there is no memory.
    """
    array = value if type(value) is np.ndarray else _array_of(value, argument)
    if array.ndim != len(argument.shape):
        raise wrong_rank(array.shape, argument)
    if argument.bits_of and array.dtype.name == argument.bits_of:
        array = array.view(argument.dtype)
    if array.dtype != argument.dtype and array.dtype.newbyteorder("=") != argument.dtype:
        if array.dtype.hasobject:
            raise CallError(
                f"`{argument.name}` is {_described(value)}, expected {_wanted(argument)}", code="type"
            )
        if array.ndim and not isinstance(value, (list, tuple)):
            raise wrong_dtype(array.dtype, argument)
        array = _adopted(array, argument)
    try:
        return np.asarray(array, argument.dtype, order="C")
    except MemoryError as error:
        raise ResourceError(
            f"`{argument.name}` has to be copied, as it is not contiguous: {error}"
        ) from error


def wrong_dtype(found: np.dtype, argument: Argument) -> CallError:
    """The complaint about an array of another dtype."""
    simple = found.kind in _KINDS and argument.dtype.kind in _KINDS
    way_out = (
        f"use {argument.name}.astype(np.{argument.dtype.name})" if simple and not argument.output else ""
    )
    return CallError(
        f"{_subject(argument)} is {found}, expected {argument.dtype}", code="dtype", help=way_out
    )


def wrong_rank(shape: tuple[int, ...], argument: Argument) -> CallError:
    """The complaint about an array with another number of axes."""
    axes = f"{len(argument.shape)} {'axis' if len(argument.shape) == 1 else 'axes'}"
    return CallError(
        f"{_subject(argument)} has shape {shape}, expected {axes}: [{', '.join(map(str, argument.shape))}]",
        code="shape",
    )


def is_masked(value: object) -> bool:
    """True if an array has a mask. NumPy loads what makes these when it is asked for, which takes
    time: until then there are none.
    """
    return isinstance(value, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def refuse_masked(value: object, argument: Argument) -> None:
    """A masked array means something else than its elements."""
    if is_masked(value):
        way_out = f"use {argument.name}.filled(...)"
        raise CallError(
            f"{_subject(argument)} is a masked array; masks are not supported", code="type", help=way_out
        )


def _subject(argument: Argument) -> str:
    return f"the output `{argument.name}`" if argument.output else f"`{argument.name}`"


def _wanted(argument: Argument) -> str:
    return f"an array of {argument.dtype}" if argument.shape else f"a number or array of {argument.dtype}"


def _described(value: object) -> str:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return "an array of Python objects"
    if isinstance(value, (list, tuple)):
        return f"a {kind.__name__} of Python objects"
    return (
        f"a {kind.__name__}"
        if kind.__module__ in ("builtins", "numpy")
        else f"a {kind.__module__}.{kind.__name__}"
    )


def _array_of(value: object, argument: Argument) -> np.ndarray:
    """`value` as a base-class array, of whatever dtype."""
    refuse_masked(value, argument)
    if isinstance(value, np.matrix):
        warn(f"`{argument.name}` is a np.matrix; it is used as a plain 2-D array")
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise CallError(
            f"`{argument.name}` is {_described(value)}, expected {_wanted(argument)}", code="type"
        )
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)  # type: ignore[arg-type]
        return np.asarray(value)
    except Exception as error:
        raise CallError(
            f"`{argument.name}` is {_described(value)} that NumPy cannot read: {error}", code="type"
        ) from error


def _adopted(array: np.ndarray, argument: Argument) -> np.ndarray:
    """Python numbers as the argument's dtype."""
    source, target = array.dtype, argument.dtype
    if array.size == 0 and source == np.float64:  # np.asarray([]): no elements, so no kind
        return array.astype(target)
    if _order(source) < 0 or _order(target) < _order(source):
        raise wrong_dtype(source, argument)
    if target.kind in "iu":
        limits = np.iinfo(target)
        if array.size and not (limits.min <= int(array.min()) and int(array.max()) <= limits.max):
            raise CallError(f"`{argument.name}` has a value that does not fit {target}", code="range")
        return array.astype(target)
    with np.errstate(over="ignore"):
        result = array.astype(target)
    if source.kind == "f" and not bool(np.isfinite(result[np.isfinite(array)]).all()):
        raise CallError(f"`{argument.name}` has a value that does not fit {target}", code="range")
    return result


def _order(dtype: np.dtype) -> int:
    """bool before integers before floats, the extension floats (kind V, of other packages)
    included; -1 for all else.
    """
    return {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2}.get(dtype.kind, -1) if dtype.names is None else -1
