"""Element types."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type: `kind` is one of `bool i u f bf`, `bits` its storage width. There is one object of each, so that comparing costs
    nothing: proofs do that for every node.
    """

    kind: str
    bits: int
    is_int: bool = field(init=False, repr=False)
    is_float: bool = field(init=False, repr=False)

    def __new__(cls, kind: str, bits: int) -> DType:
        found = _KNOWN.get((kind, bits))
        return _KNOWN.setdefault((kind, bits), object.__new__(cls)) if found is None else found

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_int", self.kind in ("i", "u"))
        object.__setattr__(self, "is_float", self.kind in ("f", "bf"))

    def __reduce__(self) -> tuple[type[DType], tuple[str, int]]:
        return DType, (self.kind, self.bits)

    @property
    def name(self) -> str:
        return "bool" if self.kind == "bool" else f"{self.kind}{self.bits}"

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_signed(self) -> bool:
        return self.kind != "u" and self.kind != "bool"

    def __str__(self) -> str:
        return self.name


_KNOWN: dict[tuple[str, int], DType] = {}

BOOL = DType("bool", 8)
U8, U16, U32, U64 = (DType("u", n) for n in (8, 16, 32, 64))
I8, I16, I32, I64 = (DType("i", n) for n in (8, 16, 32, 64))
F16, F32, F64 = (DType("f", n) for n in (16, 32, 64))
BF16 = DType("bf", 16)

DTYPES = {t.name: t for t in (BOOL, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64)}

_NUMPY = {t: np.dtype({"bool": "bool", "i": "int", "u": "uint", "f": "float"}[t.kind] + ("" if t.kind == "bool" else str(t.bits)))
          for t in DTYPES.values() if t.kind != "bf"}
_FROM_NUMPY = {n: t for t, n in _NUMPY.items()}


def numpy_dtype(t: DType) -> np.dtype:
    """The NumPy type that stores `t`, in native byte order. bf16 is stored as its 16 bits (uint16)."""
    return _NUMPY.get(t, np.dtype("uint16"))


def from_numpy(dtype: np.dtype) -> DType | None:
    """The element type of a NumPy dtype, byte order aside; None where there is none. ml_dtypes' bfloat16 is bf16."""
    found = _FROM_NUMPY.get(dtype)  # in nearly all calls; the name of a dtype is made anew each time
    if found is None and dtype.name == "bfloat16":
        return BF16
    return found or _FROM_NUMPY.get(dtype.newbyteorder("="))


def int_range(t: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    return (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def accumulator(t: DType) -> DType:
    """The type a reduction over `t` computes in: f16 and bf16 widen to f32, integers below 32 bits to 32 bits."""
    if t in (F16, BF16):
        return F32
    if t.is_int and t.bits < 32:
        return I32
    return t


def round_float(value: float, t: DType) -> float:
    """`value` rounded to the nearest float of type `t`, ties to even; infinite where it is too large."""
    with np.errstate(over="ignore"):
        return float(to_bf16(np.float64(value))) if t == BF16 else float(numpy_dtype(t).type(value))


def to_bf16(x: np.ndarray | np.floating) -> np.ndarray:
    """Floats rounded once to the nearest bf16, ties to even; held as f32."""
    # Rounding to odd at 32 bits first makes rounding twice as good as rounding once.
    exact = np.asarray(x, np.float64)
    near = exact.astype(np.float32)
    toward_zero = near.view(np.uint32) - (np.abs(near) > np.abs(exact)).astype(np.uint32)
    inexact = (near != exact) & ~np.isnan(exact)
    bits = np.where(inexact, toward_zero | np.uint32(1), near.view(np.uint32))
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(exact), np.float32(np.nan), rounded.view(np.float32))


def stored(values: object, t: DType) -> np.ndarray:
    """Numbers as NumPy stores them in `t`, rounded once: bf16 as its 16 bits (uint16)."""
    if t == BF16:
        return np.asarray((np.asarray(to_bf16(np.asarray(values)), np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return np.asarray(values).astype(numpy_dtype(t))


def readable(array: np.ndarray, t: DType) -> np.ndarray:
    """What NumPy stores as `t`, as numbers: bf16 as `ml_dtypes.bfloat16` where that is installed, else as f32, which holds it exactly."""
    if t != BF16:
        return array
    try:
        import ml_dtypes
    except ImportError:
        return np.asarray((array.astype(np.uint32) << 16).view(np.float32))
    return array.view(ml_dtypes.bfloat16)
