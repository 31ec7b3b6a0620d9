"""The operators of the scalar language, on NumPy arrays: the definition both interpreters share.

A value of a dtype that NumPy lacks (bf16, f8e4m3, f8e5m2) is held as f32 numbers that it can
represent; every other value has NumPy's type. Callers silence NumPy's warnings with `quiet()`: x /
0 and overflow have defined results here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from texpr.ir.dtypes import BOOL, F16, F64, DType, bits_of, int_range, most, numbers_of, numpy_dtype, rounded
from texpr.ir.expr import Add, And, Binary, Div, FloorDiv, Max, Min, Mod, Mul, Or, Pow, Sub
from texpr.ir.functions import FUNCTIONS
from texpr.ir.fused import fused, fused_to_odd
from texpr.ir.interpreter.random import RANDOM, draw

Array = np.ndarray


def quiet() -> np.errstate:
    """Division by zero, overflow and NaN are answers, not accidents."""
    return np.errstate(all="ignore")


def compute_dtype(t: DType) -> np.dtype:
    """The NumPy type that values of `t` are held in while computing."""
    return np.dtype(np.float32) if t.as_bits else numpy_dtype(t)


def literal_array(value: int | float | bool, t: DType) -> Array:
    """A rank-0 array."""
    return np.array(value, dtype=compute_dtype(t))


def load(stored: Array, t: DType) -> Array:
    """Values of stored elements."""
    return numbers_of(stored, t) if t.as_bits else stored


def store(values: Array, t: DType) -> Array:
    """Stored elements of values that `t` can represent."""
    return bits_of(values, t) if t.as_bits else values


def cast(x: Array, source: DType, target: DType) -> Array:
    """`x` converted: to bool by `!= 0`, float to int saturating with NaN to 0, int to int
    wrapping, to float rounded once.
    """
    if source == target:
        return x
    if target == BOOL:
        return np.not_equal(x, 0)
    if target.is_int:
        return _float_to_int(x, target) if source.is_float else np.asarray(x).astype(numpy_dtype(target))
    if target.as_bits:
        return rounded(_odd_f64(x) if source.is_int and source.bits == 64 else x, target)
    if target == F16 and source.is_int:
        return np.asarray(x).astype(np.float64).astype(np.float16)
    return np.asarray(x).astype(numpy_dtype(target))


def _float_to_int(x: Array, target: DType) -> Array:
    lo, hi = int_range(target)
    whole = np.trunc(np.asarray(x, np.float64))
    above, below = whole >= float(hi + 1), whole <= float(lo)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(numpy_dtype(target))
    return np.where(above, np.array(hi, inside.dtype), np.where(below, np.array(lo, inside.dtype), inside))


def _odd_f64(x: Array) -> Array:
    """64-bit integers as f64, rounded to odd: a second rounding to fewer bits is then as good as
    one.
    """
    low = x & x.dtype.type(0x7FF)
    odd = (x - low) | np.where(low != 0, x.dtype.type(0x800), x.dtype.type(0))
    return np.where(np.abs(x.astype(np.float64)) < 2.0**53, x, odd).astype(np.float64)


def _rounded(result: Array, t: DType) -> Array:
    return rounded(result, t) if t.as_bits else result


def order_key(x: Array, nan: int) -> Array:
    """Integers in the order of floats: -0 below +0, and NaN above (`nan` > 0) or below (`nan` <
    0) everything.
    """
    signed = np.iinfo(f"i{x.dtype.itemsize}")
    bits = np.asarray(x).view(signed.dtype)
    return np.where(
        np.isnan(x), signed.max if nan > 0 else signed.min, np.where(bits < 0, bits ^ signed.max, bits)
    ).astype(signed.dtype)


def from_key(key: Array, dtype: np.dtype) -> Array:
    """The floats of these keys."""
    return np.where(key < 0, key ^ np.iinfo(key.dtype).max, key).astype(key.dtype).view(dtype)


def maximum(a: Array, b: Array) -> Array:
    """The larger; NaN if either is NaN; -0 is below +0."""
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    return from_key(np.maximum(order_key(a, 1), order_key(b, 1)), a.dtype)


def minimum(a: Array, b: Array) -> Array:
    """The smaller; NaN if either is NaN; -0 is below +0."""
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    return from_key(np.minimum(order_key(a, -1), order_key(b, -1)), a.dtype)


def _power(a: Array, b: Array) -> Array:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    # NumPy takes the square root for some arrays of exponents of 1/2, which differs at -inf and -0.
    return np.where(b == 0.5, np.where(a == -np.inf, np.inf, np.sqrt(a) + 0.0), np.power(a, b))


BINARY: dict[type[Binary], Callable[[Array, Array], Array]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: np.divide,
    FloorDiv: np.floor_divide,
    Mod: np.remainder,
    Max: maximum,
    Min: minimum,
    And: np.logical_and,
    Or: np.logical_or,
}

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def binary(kind: type[Binary], a: Array, b: Array, t: DType) -> Array:
    """The operator `kind` at dtype `t`."""
    if kind is Pow:
        return from_f64(_power(a, b), t)
    return _rounded(np.asarray(BINARY[kind](a, b)), t)


def from_f64(x: Array, t: DType) -> Array:
    """f64 results rounded once to a float type."""
    return rounded(x, t) if t.as_bits else np.asarray(x).astype(numpy_dtype(t))


def call(name: str, args: list[Array], t: DType) -> Array:
    """A scalar function: floats are computed in f64 and rounded once to `t`, integers directly."""
    if name in RANDOM:
        return draw(name, t, args[0], args[1:])
    function = FUNCTIONS[name]
    if np.asarray(args[0]).dtype.kind != "f":
        return np.asarray(function.reference(*args))
    # Contiguous, for NumPy's loops over strided arrays may round differently.
    wide = [np.array(a, np.float64, order="C") for a in args]
    if name == "fma":
        return fused(*wide) if t == F64 else from_f64(fused_to_odd(*np.broadcast_arrays(*wide)), t)
    result = np.asarray(function.reference(*wide))
    return result if t == BOOL else from_f64(result, t)


def identity(op: str, t: DType) -> int | float | bool:
    """The value of a reduction over nothing."""
    match op:
        case "sum" | "add":
            return 0
        case "prod" | "mul":
            return 1
        case "any" | "all":
            return op == "all"
        case "max" | "argmax":
            return _lowest(t)
        case "min" | "argmin":
            return -_lowest(t) if t.is_float else (True if t == BOOL else int_range(t)[1])
    raise AssertionError(f"no reduction {op}")


def _lowest(t: DType) -> int | float | bool:
    if t.is_float:
        return -most(t)
    return False if t == BOOL else int_range(t)[0]


def fold(op: str, values: Array, t: DType) -> Array:
    """Fold along axis 0, strictly in order, at dtype `t`: `sum prod max min any all` of at least
    one element.
    """
    match op:
        case "any":
            return np.asarray(values.any(axis=0))
        case "all":
            return np.asarray(values.all(axis=0))
        case "max" | "min" if t.is_float:
            key = order_key(values, 1 if op == "max" else -1)
            return from_key(key.max(axis=0) if op == "max" else key.min(axis=0), values.dtype)
        case "max" | "min":
            return values.max(axis=0) if op == "max" else values.min(axis=0)
        case "sum" | "prod" if t.as_bits:
            result = values[0]
            for value in values[1:]:
                result = binary(Add if op == "sum" else Mul, result, value, t)
            return result
        case "sum" | "prod":
            ufunc = np.add if op == "sum" else np.multiply
            return ufunc.accumulate(values, axis=0, dtype=values.dtype)[-1]
    raise AssertionError(f"no reduction {op}")


UPDATE: dict[str, type[Binary]] = {"add": Add, "mul": Mul, "max": Max, "min": Min}


def fold_at(op: str, target: Array, positions: Array, values: Array, t: DType) -> None:
    """`target[p] op= v` in a flat array for every position and value in order; positions repeat."""
    match op:
        case "add" | "mul" if not t.as_bits:
            (np.add if op == "add" else np.multiply).at(target, positions, values)
        case "max" | "min" if t.is_float:
            nan = 1 if op == "max" else -1
            key = order_key(target, nan)
            (np.maximum if op == "max" else np.minimum).at(key, positions, order_key(values, nan))
            target[...] = from_key(key, target.dtype)
        case "max" | "min":
            (np.maximum if op == "max" else np.minimum).at(target, positions, values)
        case _:
            for place, value in zip(positions, values):
                target[place] = binary(UPDATE[op], target[place], value, t)
