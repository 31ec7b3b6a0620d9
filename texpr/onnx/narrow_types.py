"""Element types of 8, 4 and 2 bits that texpr has no arithmetic for: each element is kept in a byte
of its own, and operators that compute see numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.ir.dtypes import I8, U8, DType, numpy_dtype
from texpr.support.frozen_dataclass import frozen


@frozen
class NarrowType:
    """An element type that is kept in bytes.

    Attributes:
        number: of onnx.TensorProto.DataType.
        name: as ONNX has it.
        library: the name in the package ml_dtypes.
        bits: of an element in a file.
        fraction, bias: of a float: bits of its fraction, and what its exponent is less than its
            bits; fraction is -1 for integers.
        nan: the byte of a float's NaN, or of what becomes of one.
        sign: the byte of a float's sign; 0 where it has none.
        unsigned_zero: True if a float has no zero below 0.
    """

    number: int
    name: str
    library: str
    bits: int
    fraction: int = -1
    bias: int = 0
    nan: int = 0
    sign: int = 0
    unsigned_zero: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def is_int(self) -> bool:
        return self.fraction < 0

    @property
    def stored(self) -> DType:
        """The dtype of its bytes: integers as they are, floats as their bits."""
        return I8 if self.name.startswith("int") else U8

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer."""
        return (
            (-(1 << self.bits - 1), (1 << self.bits - 1) - 1)
            if self.stored == I8
            else (0, (1 << self.bits) - 1)
        )

    @property
    def numbers(self) -> np.ndarray:
        """The number of each byte of a float, as f32; its positive ones stand first, in order."""
        codes = np.arange(1 << self.bits)
        size = codes & (self.sign - 1 if self.sign else 0xFF)
        exponent, fraction = size >> self.fraction, size & ((1 << self.fraction) - 1)
        normal = exponent > 0 if self.sign else np.ones(len(codes), bool)
        steps = np.where(normal, fraction + (1 << self.fraction), fraction).astype(np.float64)
        found = np.ldexp(steps, np.where(normal, exponent, 1) - self.bias - self.fraction)
        found = np.where(codes & self.sign, -found, found)
        if self.bits == 8:
            found[self.nan] = np.nan
        return found.astype(np.float32)

    @property
    def sizes(self) -> np.ndarray:
        """Its numbers of 0 and above, in order."""
        return self.numbers[: self.sign or self.nan]

    def thresholds(self, rounding: str, dtype: np.dtype) -> np.ndarray:
        """The least number of a dtype that rounds to each of `sizes` but the first, and to what
        would be behind the last: to the `nearest` with ties to even, or up where there is no
        fraction; `up`, or `down`.
        """
        sizes = self.sizes.astype(dtype)
        with np.errstate(over="ignore"):  # behind 2^127, the largest of a type without a fraction
            step = sizes[-1] if not self.fraction else sizes[-1] - sizes[-2]
            sizes = np.append(sizes, sizes[-1] + step)
        low, high = sizes[:-1], sizes[1:]
        if rounding != "nearest":
            return high if rounding == "down" else np.nextafter(low, dtype.type(np.inf))
        middle = low + (high - low) / 2  # exact; the one with an even number of steps takes it
        taken = np.arange(len(low)) % 2 == 1 if self.fraction else np.ones(len(low), bool)
        return np.where(taken, middle, np.nextafter(middle, dtype.type(np.inf)))

    def bytes_of(self, array: np.ndarray) -> np.ndarray:
        """An array of ml_dtypes as it is kept."""
        return array.astype(numpy_dtype(self.stored)) if self.is_int else array.view(np.uint8)

    def readable(self, array: np.ndarray) -> np.ndarray:
        """The stored value, as an array of ml_dtypes."""
        import ml_dtypes

        t = getattr(ml_dtypes, self.library)
        return array.astype(t) if self.is_int else array.view(t)


NARROW = {
    t.number: t
    for t in (
        NarrowType(18, "float8e4m3fnuz", "float8_e4m3fnuz", 8, 3, 8, 0x80, 0x80, True),
        NarrowType(20, "float8e5m2fnuz", "float8_e5m2fnuz", 8, 2, 16, 0x80, 0x80, True),
        NarrowType(21, "uint4", "uint4", 4),
        NarrowType(22, "int4", "int4", 4),
        NarrowType(23, "float4e2m1", "float4_e2m1fn", 4, 1, 1, 8, 8),
        NarrowType(24, "float8e8m0", "float8_e8m0fnu", 8, 0, 127, 0xFF),
        NarrowType(25, "uint2", "uint2", 2),
        NarrowType(26, "int2", "int2", 2),
    )
}
"""By number. Source of the floats: ONNX's `Float stored in 8 bits`, and `Float stored in 4 bits`."""


class Narrow:
    """A tensor of a narrow type.

    Attributes:
        tensor: its bytes, a constant (`values.Known`) or a symbolic tensor.
    """

    __slots__ = ("dtype", "tensor")

    def __init__(self, tensor: Any, dtype: NarrowType) -> None:
        self.tensor, self.dtype = tensor, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return len(self.tensor.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))
