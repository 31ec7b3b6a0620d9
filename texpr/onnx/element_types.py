"""Element types: the numbers that ONNX has for them, and texpr's."""

from __future__ import annotations

from texpr.ir.dtypes import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    DType,
)
from texpr.onnx.narrow_types import NARROW, NarrowType
from texpr.onnx.text_values import TEXT, TextType

FROM_ONNX: dict[int, DType] = {
    1: F32,
    2: U8,
    3: I8,
    4: U16,
    5: I16,
    6: I32,
    7: I64,
    9: BOOL,
    10: F16,
    11: F64,
    12: U32,
    13: U64,
    16: BF16,
    17: F8E4M3,
    19: F8E5M2,
}
"""By the number of onnx.TensorProto.DataType. `NARROW` has other numbers of 8 bits or less, `TEXT` is
that of texts; complex numbers are not here.
"""
TO_ONNX = {t: number for number, t in FROM_ONNX.items()}
OTHERS = {14: "complex64", 15: "complex128"}
"""Names of types that texpr does not have."""


def name_of(number: int) -> str:
    """The name of an element type of ONNX."""
    found = FROM_ONNX.get(number) or NARROW.get(number) or (TEXT if number == TEXT.number else None)
    return OTHERS.get(number, str(number)) if found is None else found.name


def number_of(t: DType | NarrowType | TextType) -> int:
    """The number of an element type in ONNX."""
    return TO_ONNX[t] if isinstance(t, DType) else t.number


def bytes_in_file(number: int, count: int) -> int:
    """Bytes of so many elements; those of less than 8 bits share bytes."""
    bits = FROM_ONNX[number].bits if number in FROM_ONNX else NARROW[number].bits
    return (count * bits + 7) // 8
