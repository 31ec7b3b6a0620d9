"""NumPy's products of vectors and matrices, convolutions and norms, called on tensors.

Arguments for which a function has no operator give NotImplemented: NumPy's own is called then.
"""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.array_functions import operand
from texpr.graph.arrays.numpy_operands import alike, places, strong
from texpr.ir.dtypes import BOOL


def einsum(subscripts: str, *operands: Any, optimize: object = False) -> Any:
    """`np.einsum`: a single sum, whatever NumPy would cut it into."""
    del optimize
    given = alike(operands) if isinstance(subscripts, str) else []
    return ops.einsum(subscripts, *given) if given and given[0].dtype != BOOL else NotImplemented


def dot(a: Any, b: Any) -> Any:
    """`np.dot`."""
    x, y = strong(a), strong(b)
    if not x.shape or not y.shape:
        return x * y
    return array_functions.matmul(x, y) if len(y.shape) <= 2 else tensordot(x, y, (-1, -2))


def inner(a: Any, b: Any) -> Any:
    """`np.inner`."""
    x, y = strong(a), strong(b)
    return x * y if not x.shape or not y.shape else tensordot(x, y, (-1, -1))


def outer(a: Any, b: Any) -> Any:
    """`np.outer`."""
    x, y = alike([a, b])
    return x.reshape(-1, 1) * y.reshape(1, -1)


def outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    """`np.linalg.outer`."""
    x, y = strong(x1), strong(x2)
    return outer(x, y) if len(x.shape) == len(y.shape) == 1 else NotImplemented


def kron(a: Any, b: Any) -> Any:
    """`np.kron`: products of all pairs, in blocks."""
    x, y = alike([a, b])
    rank = max(len(x.shape), len(y.shape))
    left, right = ((1,) * (rank - len(v.shape)) + tuple(v.shape) for v in (x, y))
    wide = x.reshape(tuple(n for k in left for n in (k, 1))) * y.reshape(
        tuple(n for k in right for n in (1, k))
    )
    return wide.reshape(tuple(m * n for m, n in zip(left, right)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """`np.tensordot`."""
    x, y = alike([a, b])
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    over = [places(each, len(v.shape)) for each, v in zip(axes, (x, y), strict=True)]
    if (
        x.dtype == BOOL
        or None in over
        or [x.shape[k] for k in over[0] or ()] != [y.shape[k] for k in over[1] or ()]
    ):
        return NotImplemented
    names = iter(ascii_letters)
    left = [next(names) for _ in x.shape]
    right = [left[over[0][over[1].index(k)]] if k in over[1] else next(names) for k in range(len(y.shape))]
    kept = [n for k, n in enumerate(left) if k not in over[0]] + [
        n for k, n in enumerate(right) if k not in over[1]
    ]
    return ops.einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", x, y)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """`np.vecdot`: sums of products along an axis, which is there in both."""
    x, y = alike([x1, x2])
    ranks = len(x.shape), len(y.shape)
    if not all(-n <= axis < n for n in ranks):
        return NotImplemented
    at = [(axis if axis < 0 else axis - n) + n for n in ranks]
    last = [v.swapaxes(k, -1) if k != n - 1 else v for v, k, n in zip((x, y), at, ranks)]
    if last[0].shape[-1] != last[1].shape[-1]:
        return NotImplemented
    rows = array_functions.matmul(
        last[0].reshape((*last[0].shape[:-1], 1, -1 if last[0].size else last[0].shape[-1])),
        last[1].reshape((*last[1].shape, 1)),
    )
    return rows.reshape(tuple(rows.shape[:-2]))


def vdot(a: Any, b: Any, /) -> Any:
    """`np.vdot`: the sum of all products."""
    x, y = strong(a), strong(b)
    return dot(x.reshape(-1), y.reshape(-1))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """`np.cross` of vectors of three numbers."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (np.moveaxis(v, k, -1) for v, k in zip(alike([a, b]), (axisa, axisb)))
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        return NotImplemented
    parts = [
        x[..., (k + 1) % 3] * y[..., (k + 2) % 3] - x[..., (k + 2) % 3] * y[..., (k + 1) % 3]
        for k in range(3)
    ]
    return np.moveaxis(np.stack(parts, -1), -1, axisc)


def multi_dot(arrays: Any) -> Any:
    """`np.linalg.multi_dot`: the product of several matrices, from the left."""
    found, *rest = alike(list(arrays))
    for each in rest:
        found = array_functions.matmul(found, each)
    return found


def matrix_power(a: Any, n: int) -> Any:
    """`np.linalg.matrix_power` for exponents above 0: products of squares."""
    x = operand(a)
    if n < 1 or len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        return NotImplemented
    found = None
    while n:
        if n & 1:
            found = x if found is None else array_functions.matmul(found, x)
        n >>= 1
        x = array_functions.matmul(x, x) if n else x
    return array_functions.itself(found)


def polyval(p: Any, x: Any) -> Any:
    """`np.polyval` by Horner's rule."""
    c = strong(p)
    found = np.zeros_like(strong(x))
    for k in range(c.shape[0]):
        found = found * x + c[k]
    return found


# Products that slide


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """`np.convolve`: of two vectors, all products, those around the middle, or those that are whole."""
    x, y = (part.reshape(1) if not part.shape else part for part in alike([a, v]))
    if len(x.shape) != 1 or len(y.shape) != 1 or not x.size or not y.size or x.dtype == BOOL:
        return NotImplemented
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    length, taps = x.shape[0], y.shape[0]
    if mode == "valid":
        return ops.convolve_valid(x, y)
    found = ops.convolve(x, y)
    if mode == "full":
        return found
    return found[(taps - 1) // 2 :][:length] if mode == "same" else NotImplemented


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """`np.correlate`: sums of products without a turn of the second vector."""
    x, y = alike([a, v])
    if len(x.shape) != 1 or len(y.shape) != 1:
        return NotImplemented
    # Of a longer second vector, NumPy turns the result of the exchanged ones: `same` begins elsewhere then.
    if y.shape[0] > x.shape[0]:
        found = convolve(y, x[::-1], mode)
        return found if found is NotImplemented else found[::-1]
    return convolve(x, y[::-1], mode)


# Norms


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """`np.linalg.norm`: the method `norm`, of vectors, and the root of all squares of matrices."""
    v = operand(x)
    v = v if v.dtype.is_float else v.astype("f64")
    axes = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if axes is not None and len(axes) not in (1, 2):
        return NotImplemented
    if ord in (None, "fro") and (ord is None or len(axes or v.shape) == 2):
        return v.norm(2, axes, keepdims)
    count = len(v.shape) if axes is None else len(axes)
    if count != 1 or not isinstance(ord, int | float) or ord < 0:
        return NotImplemented
    return v.norm(ord, axes, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    """`np.linalg.vector_norm`."""
    v = operand(x)
    if not isinstance(ord, int | float) or ord < 0:
        return NotImplemented
    v = v if v.dtype.is_float else v.astype("f64")
    return v.norm(ord, axis if axis is None or isinstance(axis, int) else tuple(axis), keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    """`np.linalg.matrix_norm` of all squares."""
    return norm(x, None, (-2, -1), keepdims) if ord == "fro" else NotImplemented


SUMS_OF_PRODUCTS: dict[str, Callable[..., Any]] = {
    "einsum": einsum,
    "dot": dot,
    "vdot": vdot,
    "inner": inner,
    "outer": outer,
    "linalg.outer": outer_of_vectors,
    "linalg.matmul": lambda x1, x2, /: array_functions.matmul(x1, x2),
    "kron": kron,
    "tensordot": tensordot,
    "linalg.tensordot": lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes),
    "linalg.vecdot": vecdot,
    "cross": cross,
    "linalg.cross": lambda x1, x2, /, *, axis=-1: cross(x1, x2, axis=axis),
    "linalg.norm": norm,
    "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": matrix_norm,
    "linalg.multi_dot": multi_dot,
    "linalg.matrix_power": matrix_power,
    "polyval": polyval,
    "convolve": convolve,
    "correlate": correlate,
}
"""Products and norms, by their names in NumPy."""
