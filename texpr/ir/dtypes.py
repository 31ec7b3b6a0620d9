"""Element types."""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np

from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, frozen_by_identity


@frozen_by_identity
class DType:
    """An element type: `kind` is one of `bool i u f bf e4m3 e5m2`, `bits` its storage width. There
    is one object of each. It equals its names, and the dtypes and types of NumPy and torch that mean
    the same: `x.dtype == np.float32`. Its hash is its own, as that of NumPy's dtypes is: a set or
    dictionary finds a dtype of texpr by such a dtype alone.

    Attributes:
        as_bits: a float that NumPy lacks. Its bits are stored, as an unsigned integer; f32 numbers
            hold its values in computations.
    """

    kind: str
    bits: int
    is_int: bool = field(init=False, repr=False)
    is_float: bool = field(init=False, repr=False)
    as_bits: bool = field(init=False, repr=False)

    def __new__(cls, kind: str, bits: int) -> DType:
        found = _KNOWN.get((kind, bits))
        return _KNOWN.setdefault((kind, bits), object.__new__(cls)) if found is None else found

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_int", self.kind in ("i", "u"))
        object.__setattr__(self, "as_bits", self.kind in ("bf", *_SMALL))
        object.__setattr__(self, "is_float", self.kind == "f" or self.as_bits)

    def __eq__(self, other: object) -> bool:
        return self is (other if type(other) is DType else meant_by(other))

    def __ne__(self, other: object) -> bool:  # object's own would call __eq__ and take twice as long
        return self is not (other if type(other) is DType else meant_by(other))

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[type[DType], tuple[str, int]]:
        return DType, (self.kind, self.bits)

    @property
    def name(self) -> str:
        if self.kind in _SMALL:
            return f"f{self.bits}{self.kind}"
        return "bool" if self.kind == "bool" else f"{self.kind}{self.bits}"

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_signed(self) -> bool:
        return self.kind != "u" and self.kind != "bool"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtype('{self.name}')"


@frozen
class Small:
    """A format of 8 bits: a sign, an exponent, a fraction.

    Attributes:
        fraction: bits of it.
        exponent: of the smallest normal number.
        largest: number that is finite. Numbers that round to more are `beyond`.
        nan: the bits of the NaN that conversions make.
    """

    fraction: int
    exponent: int
    largest: float
    beyond: float
    nan: int


_KNOWN: dict[tuple[str, int], DType] = {}
_SMALL = {"e4m3": Small(3, -6, 448.0, float("nan"), 0x7F), "e5m2": Small(2, -14, 57344.0, float("inf"), 0x7E)}

BOOL = DType("bool", 8)
U8, U16, U32, U64 = (DType("u", n) for n in (8, 16, 32, 64))
I8, I16, I32, I64 = (DType("i", n) for n in (8, 16, 32, 64))
F16, F32, F64 = (DType("f", n) for n in (16, 32, 64))
BF16 = DType("bf", 16)
F8E4M3, F8E5M2 = DType("e4m3", 8), DType("e5m2", 8)

DTYPES = {
    t.name: t for t in (BOOL, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64, F8E4M3, F8E5M2)
}

_NUMPY = {
    t: np.dtype(
        {"bool": "bool", "i": "int", "u": "uint", "f": "float"}[t.kind]
        + ("" if t.kind == "bool" else str(t.bits))
    )
    for t in DTYPES.values()
    if not t.as_bits
}
_FROM_NUMPY = {n: t for t, n in _NUMPY.items()}
_BITS = {8: np.dtype("uint8"), 16: np.dtype("uint16")}
ML_DTYPES = {BF16: "bfloat16", F8E4M3: "float8_e4m3fn", F8E5M2: "float8_e5m2"}
"""Names in the package ml_dtypes of the types that NumPy lacks."""
OTHER_NAMES = {name: t.name for t, name in ML_DTYPES.items()}
"""The names of texpr for names of floats that NumPy lacks."""
_FROM_ML_DTYPES = {name: t for t, name in ML_DTYPES.items()}


def largest(t: DType) -> float:
    """The largest finite number of a type of floats."""
    if t.kind in _SMALL:
        return _SMALL[t.kind].largest
    return (2 - 2.0**-7) * 2.0**127 if t == BF16 else float(np.finfo(_NUMPY[t]).max)


def numpy_dtype(t: DType) -> np.dtype:
    """The NumPy type that stores `t`, in native byte order. Types that NumPy lacks are stored as
    their bits (uint16, uint8).
    """
    return _NUMPY.get(t) or _BITS[t.bits]


def native_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in native byte order, as NumPy's own object: native calls compare identities, and
    `newbyteorder` makes objects anew.
    """
    return np.dtype(dtype.type)


def from_numpy(dtype: np.dtype) -> DType | None:
    """The element type of a NumPy dtype, byte order aside; None where there is none. Those of
    ml_dtypes count where texpr has the type.
    """
    found = _FROM_NUMPY.get(dtype)  # in nearly all calls; the name of a dtype is made anew each time
    if found is None:
        found = _FROM_ML_DTYPES.get(dtype.name)
    if found is None and dtype.kind in "biuf":  # dtypes of others' own have no byte order to change
        found = _FROM_NUMPY.get(dtype.newbyteorder("="))
    return found


def meant_by(other: object) -> DType | None:
    """The element type that a name, a dtype or a type means; None where it means none. Names of texpr
    come before NumPy's codes: `i8` has 8 bits. The other byte order is another type, as in NumPy.
    """
    if (type(other).__module__, type(other).__name__) == ("torch", "dtype"):  # prints as "torch.float32"
        other = str(other)
    if isinstance(other, str):
        other = other.removeprefix("torch.")
        if (own := DTYPES.get(OTHER_NAMES.get(other, other))) is not None:
            return own
        if not other.isidentifier() and other != "?":  # NumPy would read "f4, f4" as a structure
            return None
    if not isinstance(other, str | np.dtype | type):
        return None
    try:
        dtype = np.dtype(other)
    except (TypeError, ValueError):
        return None
    return from_numpy(dtype) if dtype.isnative else None


def known_dtype(subject: str, dtype: np.dtype, help: str = "") -> DType:
    """The element type of a NumPy dtype.

    Args:
        subject: of the message: "the input".
        help: the way out.
    Raises:
        CallError: there is none.
    """
    found = from_numpy(dtype)
    if found is None:
        raise CallError(f"{subject} has dtype {dtype}, which texpr does not have", code="dtype", help=help)
    return found


def int_range(t: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    return (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def small(t: DType) -> Small | None:
    """The format of a float of 8 bits; None for other types."""
    return _SMALL.get(t.kind)


def most(t: DType) -> float:
    """The largest value of a float type: infinity, where it has one."""
    form = small(t)
    return float("inf") if form is None or form.beyond == float("inf") else form.largest


def accumulator(t: DType) -> DType:
    """The type a reduction over `t` computes in: floats below 32 bits widen to f32, integers
    below 32 bits to 32 bits.
    """
    if t.is_float and t.bits < 32:
        return F32
    if t.is_int and t.bits < 32:
        return I32
    return t


def round_float(value: int | float, t: DType) -> float:
    """`value` rounded once to the nearest float of type `t`, ties to even; where it is too large
    infinite, in f8e4m3 NaN.
    """
    if isinstance(value, int) and t.bits < 64:
        value = _odd_float(value)
    with np.errstate(over="ignore"):
        return float(rounded(np.float64(value), t)) if t.as_bits else float(numpy_dtype(t).type(value))


def _odd_float(value: int) -> float:
    """A whole number as f64, rounded to odd: a second rounding to fewer bits is then as good as
    one.
    """
    size, beyond = abs(value), max(abs(value).bit_length() - 53, 0)
    kept = size >> beyond
    return math.copysign(float((kept | (kept << beyond != size)) << beyond), value)


def rounded(x: np.ndarray | np.floating, t: DType) -> np.ndarray:
    """Floats rounded once to the nearest number of a type that NumPy lacks, ties to even; held as
    f32.

    What is too large becomes infinity, in f8e4m3 NaN: it has no infinity.
    """
    with np.errstate(invalid="ignore"):
        exact = np.asarray(x, np.float64)
    return _to_bf16(exact) if t == BF16 else _to_small(exact, _SMALL[t.kind])


def _to_bf16(exact: np.ndarray) -> np.ndarray:
    # Rounding to odd at 32 bits first makes rounding twice as good as rounding once.
    near = exact.astype(np.float32)
    toward_zero = near.view(np.uint32) - (np.abs(near) > np.abs(exact)).astype(np.uint32)
    inexact = (near != exact) & ~np.isnan(exact)
    bits = np.where(inexact, toward_zero | np.uint32(1), near.view(np.uint32))
    upper = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(exact), np.float32(np.nan), upper.view(np.float32))


def _to_small(exact: np.ndarray, form: Small) -> np.ndarray:
    # Numbers of a type are whole multiples of a power of two that depends on their exponent; both
    # products are exact.
    exponent = np.maximum(np.frexp(exact)[1] - 1, form.exponent) - form.fraction
    near = np.ldexp(np.rint(np.ldexp(exact, -exponent)), exponent)
    near = np.where(np.abs(near) > form.largest, np.copysign(form.beyond, exact), near)
    return np.where(np.isnan(near), np.float32(np.nan), near.astype(np.float32))


def bits_of(values: np.ndarray, t: DType) -> np.ndarray:
    """The bits of values that a type which NumPy lacks can represent, held as f32."""
    word = np.asarray(values, np.float32).view(np.uint32)
    if t == BF16:
        return (word >> np.uint32(16)).astype(np.uint16)
    form, word = _SMALL[t.kind], word.astype(np.int64)
    size = np.abs(np.asarray(values, np.float32))
    # The exponent moves to its new bias; below the normal numbers the value counts the smallest
    # ones; above them there are bits alone.
    moved = (word & 0x7FFFFFFF) >> 23 - form.fraction
    normal = moved - ((126 + form.exponent) << form.fraction)
    few = np.ldexp(np.where(size < 2.0**form.exponent, size, 0), form.fraction - form.exponent).astype(
        np.int64
    )
    above = moved if form.beyond == float("inf") else form.nan
    whole = np.where(size < 2.0**form.exponent, few, np.where(size <= form.largest, normal, above))
    return (whole & 0x7F | word >> 24 & 0x80).astype(np.uint8)


def numbers_of(bits: np.ndarray, t: DType) -> np.ndarray:
    """The numbers that stored bits of such a type encode, as f32, which holds them exactly."""
    if t == BF16:
        return (np.asarray(bits, np.uint32) << np.uint32(16)).view(np.float32)
    return _NUMBERS[t][np.asarray(bits)]


def _all_numbers(form: Small) -> np.ndarray:
    """The f32 of each 8 bits. The bits of a NaN stay the upper ones of its fraction, so that a
    copy is one.
    """
    bits = np.arange(256, dtype=np.uint32)
    exponent, fraction = bits >> form.fraction & (0x7F >> form.fraction), bits & ((1 << form.fraction) - 1)
    power = np.maximum(exponent, 1).astype(np.int32) - 1 + form.exponent - form.fraction
    numbers = np.ldexp(
        np.where(exponent > 0, fraction + (1 << form.fraction), fraction).astype(np.float32), power
    )
    word = numbers.astype(np.float32).view(np.uint32)
    word = np.where(
        numbers > form.largest, np.uint32(0x7F800000) | fraction << np.uint32(23 - form.fraction), word
    )
    return (word | (bits & np.uint32(0x80)) << np.uint32(24)).astype(np.uint32).view(np.float32)


_NUMBERS = {t: _all_numbers(_SMALL[t.kind]) for t in (F8E4M3, F8E5M2)}


def stored(values: object, t: DType) -> np.ndarray:
    """Numbers as NumPy stores them in `t`, rounded once: what NumPy lacks as its bits."""
    if t.as_bits:
        return np.asarray(bits_of(rounded(np.asarray(values), t), t))
    return np.asarray(values).astype(numpy_dtype(t))


def number(value: bool | int | float, t: DType) -> np.ndarray:
    """A number of Python as texpr stores it, of rank 0.

    Raises:
        OverflowError: it is an integer that `t` does not have.
    """
    return stored(value, t) if t.as_bits else np.array(value, numpy_dtype(t))


def as_bits(array: np.ndarray, t: DType | None) -> np.ndarray:
    """An array whose NumPy dtype stands for `t`, as texpr stores it: those of ml_dtypes as their
    bits.
    """
    return array.view(numpy_dtype(t)) if t is not None and t.as_bits else array


def readable(array: np.ndarray, t: DType) -> np.ndarray:
    """An array stored as `t` with elements that NumPy can print and compute with: types that NumPy
    lacks as those of ml_dtypes where that is installed, else as f32.
    """
    if not t.as_bits:
        return array
    try:
        import ml_dtypes
    except ImportError:
        return np.asarray(numbers_of(array, t))
    return array.view(getattr(ml_dtypes, ML_DTYPES[t]))
