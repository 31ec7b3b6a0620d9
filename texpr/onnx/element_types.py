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
"""By the number of onnx.TensorProto.DataType. Texts, complex numbers and other numbers of 8 bits
or less are not here.
"""
TO_ONNX = {t: number for number, t in FROM_ONNX.items()}
OTHERS = {
    8: "string",
    14: "complex64",
    15: "complex128",
    18: "float8e4m3fnuz",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}
"""Names of types that texpr does not have."""


def name_of(number: int) -> str:
    """The name of an element type of ONNX."""
    return FROM_ONNX[number].name if number in FROM_ONNX else OTHERS.get(number, str(number))
