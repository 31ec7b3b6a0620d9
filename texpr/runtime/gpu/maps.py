"""Tensor maps: how a tensor lies in memory and which boxes of it are copied as a whole, as NVIDIA's
driver encodes them.

Dimensions are counted from the last one of the tensor, which lies side by side. What lies outside
of a tensor becomes zeros.
"""

from __future__ import annotations

from typing import Any

from texpr.runtime.gpu.driver_api import BoxMap

# CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
_TYPES = {
    "u8": 0,
    "i8": 0,
    "bool": 0,
    "f8e4m3": 0,
    "f8e5m2": 0,
    "u16": 1,
    "i16": 1,
    "u32": 2,
    "i32": 3,
    "u64": 4,
    "i64": 5,
    "f16": 6,
    "f32": 7,
    "f64": 8,
    "bf16": 9,
}
_SIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2)
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_NOT_INTERLEAVED, _PROMOTED, _ZEROS = 0, 2, 0  # to lines of 128 bytes of the second cache


def strides_of(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Bytes from one row to the next along each dimension but the last one, that nearest first."""
    found = [size]
    for n in reversed(shape[1:]):
        found.append(found[-1] * n)
    return tuple(found[1:])


def tensor_map(functions: Any, address: int, given: BoxMap) -> tuple[Any, ...]:
    """The arguments of `cuTensorMapEncodeTiled`."""
    _, dtype, shape, box, swizzle = given
    number = _TYPES[dtype]
    long, short, rank = functions.cuuint64_t, functions.cuuint32_t, len(shape)
    return (
        functions.CUtensorMapDataType(number),
        rank,
        address,
        [long(n) for n in reversed(shape)],
        [long(n) for n in strides_of(shape, _SIZES[number])],
        [short(n) for n in reversed(box)],
        [short(1)] * rank,
        functions.CUtensorMapInterleave(_NOT_INTERLEAVED),
        functions.CUtensorMapSwizzle(_SWIZZLES[swizzle]),
        functions.CUtensorMapL2promotion(_PROMOTED),
        functions.CUtensorMapFloatOOBfill(_ZEROS),
    )
