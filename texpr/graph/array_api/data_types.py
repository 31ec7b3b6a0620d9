"""Data types of the standard: their names, kinds, limits and promotion."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.graph.arrays.array_functions import is_number
from texpr.graph.arrays.promotion import named, promoted
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import tensor
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F64, I64, DType, int_range, largest, numpy_dtype
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen

STANDARD_NAMES = {
    "bool": "bool",
    **{
        f"{word}{bits}": f"{letter}{bits}"
        for word, letter in (("int", "i"), ("uint", "u"))
        for bits in (8, 16, 32, 64)
    },
    "float32": "f32",
    "float64": "f64",
}
"""The data types of the standard, and what they are called here. Complex numbers are not there."""
DEFAULTS = {"real floating": F64, "complex floating": None, "integral": I64, "indexing": I64}
"""Types of what is made without one. There are no complex numbers."""
_KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)


@frozen
class FloatLimits:
    """Limits of floats, as `finfo` gives them.

    Attributes:
        bits: of a number.
        eps: the distance from 1 to the next larger number.
        max, min: the largest and the least finite number.
        smallest_normal: the least number above 0 with all bits of a fraction.
        dtype: of the numbers.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@frozen
class IntegerLimits:
    """Limits of integers, as `iinfo` gives them.

    Attributes:
        bits: of a number.
        max, min: the largest and the least number.
        dtype: of the numbers.
    """

    bits: int
    max: int
    min: int
    dtype: DType


def kind_of(t: DType) -> str:
    """The kind of a data type, in the words of the standard.

    Example:
        >>> tx.array_api.data_types.kind_of(tx.array_api.uint8)
        'unsigned integer'
    """
    if t.is_float:
        return "real floating"
    return "bool" if t == BOOL else "signed integer" if t.is_signed else "unsigned integer"


def dtype_named(dtype: object) -> DType:
    """A data type, as it is or by a name.

    Raises:
        CallError: there is none, as of complex numbers.
    """
    return named(STANDARD_NAMES.get(dtype, dtype) if isinstance(dtype, str) else dtype)


def _type_of(value: Any) -> DType:
    return value.dtype if isinstance(getattr(value, "dtype", None), DType) else dtype_named(value)


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """The same values in another data type; towards zero where integers are made of floats.

    Args:
        copy: False for the tensor itself where it has the type.
        device: where the result lies; None for where `x` does.
    Example:
        >>> xp = tx.array_api
        >>> xp.astype(xp.asarray([1.5, 2.5]), xp.int32)
        tensor([1, 2], i32[2])
    """
    t = dtype_named(dtype)
    found = x if not copy and x.dtype == t else x.astype(t)
    return found if device is None else found.to(device)


def can_cast(from_: Any, to: Any, /) -> bool:
    """True if promotion of both types gives the second one: no values are lost.

    Example:
        >>> xp = tx.array_api
        >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int16, xp.int8)
        (True, False)
    """
    a, b = _type_of(from_), dtype_named(to)
    return a == b or (BOOL not in (a, b) and promoted(a, b) == b)


def finfo(type: Any, /) -> FloatLimits:  # noqa: A002
    """Limits of a type of floats, or of the elements of a tensor.

    Raises:
        CallError: no type of floats.
    Example:
        >>> tx.array_api.finfo(tx.array_api.float32).bits
        32
    """
    t = _type_of(type)
    if not t.is_float:
        raise CallError(f"finfo of {t}", code="dtype", help="iinfo is for integers")
    if t == BF16:
        return FloatLimits(16, 2.0**-7, largest(t), -largest(t), 2.0**-126, t)
    if t.as_bits:
        raise CallError(f"finfo of {t}", code="dtype", help="f16, bf16, f32 and f64 have limits here")
    found = np.finfo(numpy_dtype(t))
    return FloatLimits(
        t.bits, float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), t
    )


def iinfo(type: Any, /) -> IntegerLimits:  # noqa: A002
    """Limits of a type of integers, or of the elements of a tensor.

    Raises:
        CallError: no type of integers.
    Example:
        >>> tx.array_api.iinfo(tx.array_api.int8).max
        127
    """
    t = _type_of(type)
    if not t.is_int:
        raise CallError(f"iinfo of {t}", code="dtype", help="finfo is for floats")
    lo, hi = int_range(t)
    return IntegerLimits(t.bits, hi, lo, t)


def isdtype(dtype: Any, kind: Any) -> bool:
    """True if a data type is of a kind: a name of one, a data type, or one of several.

    Raises:
        CallError: there is no such kind.
    Example:
        >>> tx.array_api.isdtype(tx.array_api.uint8, ("signed integer", "unsigned integer"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    own = kind_of(dtype_named(dtype))
    if not isinstance(kind, str) or kind in DTYPES and kind not in _KINDS:
        return dtype_named(dtype) == dtype_named(kind)
    if kind not in _KINDS:
        raise CallError(
            f"{kind!r} is no kind of data types", code="dtype", help=f"kinds are {', '.join(_KINDS)}"
        )
    if kind == "numeric":
        return own != "bool"
    return own.endswith("integer") if kind == "integral" else own == kind


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The data type of a result over tensors, data types and numbers of Python.

    Raises:
        CallError: types of different kinds, whose promotion the standard leaves open.
    Example:
        >>> xp = tx.array_api
        >>> xp.result_type(xp.int8, xp.uint8, 1).name
        'i16'
    """
    types = [_type_of(a) for a in arrays_and_dtypes if not is_number(a) and not isinstance(a, complex)]
    numbers = [a for a in arrays_and_dtypes if is_number(a) or isinstance(a, complex)]
    if not types:
        raise CallError("numbers of Python alone have no data type", code="dtype", help="xp.asarray(number)")
    found = types[0]
    for t in types[1:]:
        found = _together(found, t)
    for n in numbers:
        fits = (
            found == BOOL if isinstance(n, bool) else found != BOOL if isinstance(n, int) else found.is_float
        ) and not isinstance(n, complex)
        if not fits:
            raise CallError(f"{n!r} beside {found}, another kind of numbers", code="dtype", help=_CONVERT)
    return found


_CONVERT = "convert one: xp.astype(x, dtype)"


def _together(a: DType, b: DType) -> DType:
    """The type of both.

    Raises:
        CallError: they are of different kinds; u64 and integers with a sign, which no type holds.
    """
    kinds = [k if not k.endswith("integer") else "integer" for k in (kind_of(a), kind_of(b))]
    found = promoted(a, b)
    if kinds[0] != kinds[1] or kinds[0] == "integer" and found.is_float:
        raise CallError(f"{a} and {b} are numbers of different kinds", code="dtype", help=_CONVERT)
    return found


def operands(*given: Any) -> list[Any]:
    """Operands of a function of elements, which are of one kind.

    Raises:
        CallError: they are not; none is a tensor.
    """
    result_type(*given)
    return [tensor(x) if isinstance(x, np.ndarray) else x for x in given]
