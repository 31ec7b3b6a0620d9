"""Promotion of two arrays' dtypes: NumPy's table, with the floats that it lacks.

Python's numbers are weak, as in NumPy (NEP 50): they take the dtype of the array if that can hold
their kind.

|            | with a float          | with an integer of 8, 16, more bits      | with bool |
|------------|-----------------------|------------------------------------------|-----------|
| f8e4m3, f8e5m2 | the wider; each other: f32 | f16, f32, f64                      | itself    |
| f16        | the wider; bf16: f32  | f16, f32, f64                            | f16       |
| bf16       | the wider; f16: f32   | bf16, f32, f64                           | bf16      |
| f32        | the wider             | f32, f32, f64                            | f32       |
| f64        | f64                   | f64                                      | f64       |
| integers   |                       | the wider; of both signs the narrowest that holds both, f64 for u64 | itself |
"""

from __future__ import annotations

import re

import numpy as np

from texpr.ir.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I64,
    OTHER_NAMES,
    U64,
    DType,
    from_numpy,
    int_range,
)
from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean

_COUNTS_BYTES = re.compile("[biuf][0-9]+")
_WORDS = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
"""Names that NumPy and torch have."""
_FLOAT_BITS = {8: 16, 16: 32, 32: 64, 64: 64}
"""Bits of a float that counts as holding integers of so many."""


def promoted(a: DType, b: DType) -> DType:
    """The dtype of a result over both."""
    if a == b or b == BOOL:
        return a
    if a == BOOL:
        return b
    if a.is_float and b.is_float:
        return F32 if {a, b} in ({F16, BF16}, {F8E4M3, F8E5M2}) else max(a, b, key=lambda t: t.bits)
    if a.is_float or b.is_float:
        real, whole = (a, b) if a.is_float else (b, a)
        return real if real.bits >= _FLOAT_BITS[whole.bits] else DTYPES[f"f{_FLOAT_BITS[whole.bits]}"]
    if a.kind == b.kind:
        return max(a, b, key=lambda t: t.bits)
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    bits = max(signed.bits, 2 * unsigned.bits)
    return DTYPES[f"i{bits}"] if bits <= 64 else F64


def with_number(t: DType, number: bool | int | float) -> DType:
    """The dtype of a result over an array and a number of Python.

    Raises:
        CallError: an integer that the array's dtype cannot hold.
    """
    if isinstance(number, bool):
        return t
    if isinstance(number, int):
        whole = I64 if t == BOOL else t
        if whole.is_int and not int_range(whole)[0] <= number <= int_range(whole)[1]:
            raise CallError(
                f"{number} does not fit {whole}", code="dtype", help="convert the tensor: .astype(...)"
            )
        return whole
    return t if t.is_float else F64


def of_elementary(t: DType) -> DType:
    """The dtype in which exp, sin and the like of a dtype are computed."""
    if t.is_float:
        return t
    return F16 if t == BOOL else DTYPES[f"f{_FLOAT_BITS[t.bits]}"]


def of_quotient(t: DType) -> DType:
    """The dtype of a / b, and of means."""
    return t if t.is_float else F64


def of_sum(t: DType) -> DType:
    """The dtype of sums and products of elements."""
    if t == BOOL or (t.is_int and t.is_signed):
        return I64
    return U64 if t.is_int else t


def is_dtype(value: object) -> bool:
    """True if a value names a dtype: of texpr, of NumPy, of torch, or by text."""
    if isinstance(value, str):
        value = value.removeprefix("torch.")
        return value in DTYPES or value in OTHER_NAMES or _of_numpy(value) is not None
    return isinstance(value, DType | np.dtype | type) or str(value).startswith("torch.")


def _of_numpy(value: object) -> DType | None:
    """The dtype that NumPy means; None if it means none, or one that texpr does not have."""
    try:
        return from_numpy(np.dtype(value))  # type: ignore[call-overload]
    except TypeError:
        return None


def named(dtype: object) -> DType:
    """A dtype from its name, that of NumPy or torch, a dtype of theirs, or as it is. Names count bits: `i8`
    has 8 bits, which NumPy calls `i1`.

    Raises:
        CallError: texpr has no such dtype; a code of NumPy that counts bytes, which `i8` and `u8`
            would contradict.
    """
    if isinstance(dtype, DType):
        return dtype
    text = dtype if isinstance(dtype, str) else str(dtype) if str(dtype).startswith("torch.") else ""
    text = text.removeprefix("torch.")
    if text in DTYPES or text in OTHER_NAMES:
        return DTYPES[OTHER_NAMES.get(text, text)]
    found = _of_numpy(text or dtype)
    if found is None:
        raise CallError(
            f"{dtype!r} is no dtype that texpr has",
            code="dtype",
            help=did_you_mean(text, {*DTYPES, *_WORDS, *OTHER_NAMES}) or f"there are {', '.join(DTYPES)}",
        )
    if isinstance(dtype, str) and _COUNTS_BYTES.fullmatch(dtype):
        raise CallError(
            f"{dtype!r} counts bytes, as NumPy does, and texpr's names count bits",
            code="dtype",
            help=f'write "{found}", or np.dtype({dtype!r})',
        )
    return found
