"""Numbers from elements of 8, 4 and 2 bits, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.ir.dtypes import F32, F64, I8, numpy_dtype
from texpr.onnx.graph_conversion import Node
from texpr.onnx.narrow_types import Narrow, NarrowType
from texpr.onnx.operator_definitions import each, written
from texpr.onnx.values import Known

_NUMBERS = """op numbers_of_bits(X: u8[*S], numbers: f32[N]) -> Y: f32[*S] {
  Y[*s] = numbers[i64(X[*s]) | clamp]
}"""
_BITS = """op bits_of_numbers<T: float>(X: T[*S], least: T[N]) -> Y: u8[*S] {
  let n: i32[*S]  n[*s] = sum<i32>(k: if abs(X[*s]) >= least[k] then 1 else 0)
  Y[*s] = u8(if NONE then NAN else if NEGATIVE then n[*s] + SIGN else n[*s])
}"""
"""Number of the least numbers that round to each but the first, and are not above a size."""


def numbers(node: Node, x: Narrow) -> Any:
    """The numbers of a tensor: integers in their bytes, floats as f32, which holds all of them."""
    if x.dtype.is_int:
        return x.tensor
    return written(_NUMBERS)(x.tensor, node.run.tensor(Known.of(x.dtype.numbers)))


def narrowed(node: Node, x: Any, t: NarrowType, rounding: str = "nearest") -> Narrow:
    """Numbers as elements of a narrow type. Integers are cut towards 0, and of their bits the last
    ones stay; floats are rounded once.
    """
    if t.is_int:
        return Narrow(_last_bits(x, t), t)
    given = x if x.dtype in (F32, F64) else x.astype((F32 if x.dtype.is_float else F64).name)
    saturates = t.bits < 8 or bool(node.attr("saturate", 1))
    least = t.thresholds(rounding, numpy_dtype(given.dtype))
    text = _BITS.replace("NAN", str(t.nan)).replace("SIGN", str(t.sign))
    none = "isnan(X[*s])" if t.sign else "not isfinite(X[*s])"
    text = text.replace("NONE", none if saturates else f"{none} or n[*s] >= {len(least)}")
    negative = "n[*s] > 0 and X[*s] < 0" if t.unsigned_zero else "copysign(1, X[*s]) < 0"
    text = text.replace("NEGATIVE", negative if t.sign else "n[*s] < 0")
    table = Known.of(least[:-1] if saturates else least)
    return Narrow(written(text)(given, node.run.tensor(table)), t)


def _last_bits(x: Any, t: NarrowType) -> Any:
    whole = x if x.dtype.is_int else x.astype("i64")
    mask, sign = (1 << t.bits) - 1, 1 << t.bits - 1
    text = f"bit_and(i64({{0}}), {mask})"
    text = f"{t.stored}(bit_xor({text}, {sign}) - {sign})" if t.stored == I8 else f"{t.stored}({text})"
    return each("last_bits", text, whole, result=t.stored)


def known_bytes(values: np.ndarray, t: NarrowType) -> Narrow:
    """Bytes that are known when the program is made."""
    return Narrow(Known.of(np.asarray(values, numpy_dtype(t.stored))), t)
