"""From whatever callers pass to arrays that a kernel can read, without changing a value silently.

Arrays must have the argument's dtype; layout, byte order and alignment do not matter. Python numbers, lists and rank-0 arrays have no
dtype that the caller chose, so they become the argument's if their kind allows it: bool -> int -> float, in range.
"""

from __future__ import annotations

import warnings

import numpy as np

from texpr.runtime.spec import Argument
from texpr.support.errors import CallError

_KINDS = "biuf"


def read_input(value: object, argument: Argument) -> np.ndarray:
    """A C-contiguous array of `argument`'s dtype and rank with the elements of `value`; a view of it where possible.

    Raises:
        CallError: `value` is no array, or one of another dtype or rank.
    """
    array = _array_of(value, argument)
    _check_rank(array, argument)
    if array.dtype.newbyteorder("=") != argument.dtype:
        if array.ndim and not isinstance(value, (list, tuple)):
            raise wrong_dtype(array.dtype, argument)
        array = _adopted(array, argument)
    return np.asarray(array, dtype=argument.dtype, order="C")


def wrong_dtype(found: np.dtype, argument: Argument) -> CallError:
    """The complaint about an array of another dtype."""
    text = f"`{argument.name}` is {found}, expected {argument.dtype}"
    simple = found.kind in _KINDS and argument.dtype.kind in _KINDS
    return CallError(text, code="dtype", help=f"use {argument.name}.astype(np.{argument.dtype.name})" if simple else "")


def _array_of(value: object, argument: Argument) -> np.ndarray:
    """`value` as a base-class array, of whatever dtype."""
    if type(value) is np.ndarray:
        return value
    refuse_special(value, argument)
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            array = np.from_dlpack(value)  # type: ignore[arg-type]
        else:
            array = np.asarray(value)
    except Exception as error:
        raise CallError(f"`{argument.name}` is a {_type_name(value)} that NumPy cannot read: {error}", code="type") from error
    if array.dtype.hasobject or array.dtype.kind in "USV" and not isinstance(value, np.ndarray) and not hasattr(value, "__array__"):
        raise CallError(f"`{argument.name}` is a {_type_name(value)} of {array.dtype}, expected an array of {argument.dtype}", code="type")
    return array


def refuse_special(value: object, argument: Argument) -> None:
    """Subclasses of ndarray that mean something else than an array."""
    if isinstance(value, np.ma.MaskedArray):
        raise CallError(f"`{argument.name}` is a masked array; masks are not supported", code="type",
                        help=f"use {argument.name}.filled(...)")
    if isinstance(value, np.matrix):
        warnings.warn(f"`{argument.name}` is a np.matrix; it is used as a plain 2-D array", UserWarning, stacklevel=6)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "numpy") else f"{kind.__module__}.{kind.__name__}"


def _check_rank(array: np.ndarray, argument: Argument) -> None:
    expected = len(argument.shape)
    if array.ndim != expected:
        shape = ", ".join(map(str, argument.shape))
        raise CallError(f"`{argument.name}` has rank {array.ndim} (shape {array.shape}), expected rank {expected}: [{shape}]", code="shape")


def _adopted(array: np.ndarray, argument: Argument) -> np.ndarray:
    """Python numbers as the argument's dtype."""
    source, target = array.dtype, argument.dtype
    if array.size == 0 and array.dtype == np.float64:  # np.asarray([]): no elements, so no kind
        return array.astype(target)
    if source.kind not in _KINDS or _KINDS.index(target.kind.replace("V", "f")) < _KINDS.index(source.kind.replace("u", "i")):
        raise wrong_dtype(source, argument)
    if target.kind in "iu":
        limits = np.iinfo(target)
        if array.size and not (limits.min <= int(array.min()) and int(array.max()) <= limits.max):
            raise CallError(f"`{argument.name}` has a value that does not fit {target}", code="range")
        return array.astype(target)
    with np.errstate(over="ignore"):
        result = array.astype(target)
    if source.kind == "f" and bool((np.isinf(result) & np.isfinite(array)).any()):
        raise CallError(f"`{argument.name}` has a value that does not fit {target}", code="range")
    return result
