"""NumPy's functions of elements that are no universal functions, called on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.array_functions import is_number, operand
from texpr.graph.arrays.numpy_operands import is_tensor, strong
from texpr.graph.arrays.rearranging import filled
from texpr.ir.dtypes import BOOL


def where(condition: Any, x: Any, y: Any) -> Any:
    """`np.where` of three operands; a condition of numbers holds where it is not 0."""
    if is_number(x) and is_number(y):
        x, y = strong(x), strong(y)
    found = operand(condition)
    if is_number(found) or found.dtype not in (BOOL, np.dtype(bool)):
        condition = strong(found) != 0
    return array_functions.where(condition, x, y)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """`np.select`: for each element the first choice whose condition holds."""
    if not condlist or len(condlist) != len(choicelist):
        return NotImplemented
    found = strong(default)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        found = where(condition, strong(choice), found)
    return found


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """`np.isclose`."""
    x, y = strong(a), strong(b)
    near = abs(x - y) <= atol + rtol * abs(y)
    same = (near & np.isfinite(y)) | (x == y)
    return same | ((x != x) & (y != y)) if equal_nan else same


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """`np.array_equal`: computed now."""
    x, y = strong(a1), strong(a2)
    if tuple(x.shape) != tuple(y.shape):
        return False
    same = x == y
    return bool((same | ((x != x) & (y != y)) if equal_nan else same).all())


def array_equiv(a1: Any, a2: Any) -> Any:
    """`np.array_equiv`: computed now."""
    x, y = strong(a1), strong(a2)
    try:
        np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ValueError:
        return False
    return bool((x == y).all())


def clip(a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    """`np.clip`."""
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    if options:
        return NotImplemented
    return operand(a).clip(low, high)


def around(a: Any, decimals: int = 0) -> Any:
    """`np.round`."""
    return operand(a).round(decimals)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`np.nan_to_num`: of a copy."""
    return operand(x).nan_to_num(nan, posinf, neginf) if copy and is_tensor(operand(x)) else NotImplemented


def sinc(x: Any) -> Any:
    """`np.sinc`."""
    v = operand(x)
    return ops.sinc(v if v.dtype.is_float else v.astype("f64"))


def angle(z: Any, deg: bool = False) -> Any:
    """`np.angle` of real numbers: 0, or pi below 0."""
    x = operand(z)
    x = x if x.dtype.is_float else x.astype("f64")
    return array_functions.where(
        x < 0, 180.0 if deg else float(np.pi), array_functions.where(x.isnan(), x, 0.0)
    )


def _signed_infinity(sign: str) -> Callable[..., Any]:
    def of_array(x: Any) -> Any:
        v = operand(x)
        return (v == float(f"{sign}inf")) if v.dtype.is_float else v != v

    return of_array


def _same(x: Any) -> Any:
    return array_functions.itself(operand(x))


def _never(x: Any) -> Any:
    v = operand(x)
    return array_functions.elementwise("iscomplex", "false", (v,), None, BOOL)


def _always(x: Any) -> Any:
    v = operand(x)
    return array_functions.elementwise("isreal", "true", (v,), None, BOOL)


PER_ELEMENT: dict[str, Callable[..., Any]] = {
    "where": where,
    "select": select,
    "isclose": isclose,
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: bool(
        isclose(a, b, rtol, atol, equal_nan).all()
    ),
    "array_equal": array_equal,
    "array_equiv": array_equiv,
    "clip": clip,
    "round": around,
    "around": around,
    "fix": lambda x: operand(x).trunc(),
    "nan_to_num": nan_to_num,
    "sinc": sinc,
    "angle": angle,
    "isposinf": _signed_infinity("+"),
    "isneginf": _signed_infinity("-"),
    "real": _same,
    "imag": lambda val: filled(val, 0),
    "real_if_close": _same,
    "iscomplex": _never,
    "isreal": _always,
    "astype": lambda x, dtype, /, *, copy=True: operand(x).astype(dtype),
    "shape": lambda a: tuple(a.shape),
    "ndim": lambda a: len(a.shape),
    "size": lambda a, axis=None: int(a.size) if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: False,
    "isrealobj": lambda x: True,
}
"""Functions of elements, by their names in NumPy."""
