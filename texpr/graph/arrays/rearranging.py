"""NumPy's functions that move elements, called on tensors: turns, repetitions, paddings, choices.

Arguments for which a function has no operator give NotImplemented: NumPy's own is called then.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions, operator_texts
from texpr.graph.arrays.array_functions import cast_any, dtype_of, operand
from texpr.graph.arrays.joins_and_splits import concatenate, stack
from texpr.graph.arrays.numpy_operands import at_axis, by_places, is_tensor, places, strong, tensor_of
from texpr.graph.arrays.promotion import named, promoted
from texpr.ir.dtypes import BOOL, I64, int_range
from texpr.support.errors import CallError

# Axes


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`np.moveaxis`."""
    x, rank = operand(a), len(a.shape)
    pairs = [places(each, rank) for each in (source, destination)]
    if None in pairs or len(pairs[0]) != len(pairs[1]):
        return NotImplemented
    order = [k for k in range(rank) if k not in pairs[0]]
    for to, k in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(to, k)
    return x.transpose(order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`np.rollaxis`."""
    rank = len(operand(a).shape)
    (k,) = array_functions.axes_of(axis, rank)
    if not -rank <= start <= rank:
        return NotImplemented
    to = start + rank if start < 0 else start
    return moveaxis(a, k, to - (k < to))


def matrix_transpose(x: Any, /) -> Any:
    """`np.matrix_transpose`."""
    v = operand(x)
    return v.swapaxes(-1, -2) if len(v.shape) >= 2 else NotImplemented


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """`np.broadcast_arrays`."""
    del subok
    given = [tensor_of(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in given))
    return tuple(a.broadcast_to(shape) for a in given)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """`np.meshgrid`."""
    del copy
    if indexing not in ("xy", "ij"):
        return NotImplemented
    vectors = [tensor_of(x).reshape(-1) for x in xi]
    rank = len(vectors)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    shape = tuple(vectors[k].shape[0] for k in order)
    found = [v.reshape(tuple(-1 if order[k] == n else 1 for k in range(rank))) for n, v in enumerate(vectors)]
    return tuple(found) if sparse else tuple(v.broadcast_to(shape) for v in found)


# Turns


def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`."""
    x = operand(m)
    turned = array_functions.axes_of(axis, len(x.shape))
    return x[tuple(slice(None, None, -1) if k in turned else slice(None) for k in range(len(x.shape)))]


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`np.rot90`: a quarter turn from the first axis towards the second, k times."""
    x = operand(m)
    pair = places(axes, len(x.shape))
    if pair is None or len(pair) != 2:
        return NotImplemented
    k %= 4
    if k == 2:
        return flip(x, tuple(pair))
    if k == 1:
        return flip(x, pair[1]).swapaxes(*pair)
    return flip(x.swapaxes(*pair), pair[1]) if k else array_functions.itself(x)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`np.roll`."""
    x = operand(a)
    if axis is None:
        if not isinstance(shift, int | np.integer):
            return NotImplemented
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    shifts, axes = np.broadcast_arrays(np.asarray(shift), np.asarray(axis))
    if shifts.ndim > 1:
        return NotImplemented
    total = dict.fromkeys(range(len(x.shape)), 0)
    for s, k in zip(shifts.reshape(-1), axes.reshape(-1)):
        total[array_functions.axes_of(int(k), len(x.shape))[0]] += int(s)
    found = array_functions.itself(x)
    for k, s in total.items():
        if x.shape[k] and s % x.shape[k]:
            found = ops.roll(found, axis=k, shift=s % x.shape[k])
    return found


# Repetitions


def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    """`np.tile`."""
    x = operand(A)
    times = [int(n) for n in np.atleast_1d(np.asarray(reps))]
    if min(times, default=0) < 0:
        return NotImplemented
    rank = max(len(times), len(x.shape))
    times = [1] * (rank - len(times)) + times
    found = x.reshape((1,) * (rank - len(x.shape)) + tuple(x.shape))
    shape = tuple(n * k for n, k in zip(times, found.shape))
    pairs = tuple(v for n in found.shape for v in (1, n))
    wanted = tuple(v for n, k in zip(times, found.shape) for v in (n, k))
    return found.reshape(pairs).broadcast_to(wanted).reshape(shape)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """`np.repeat`; numbers of repetitions that differ are known when it is called."""
    x = operand(a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    (k,) = array_functions.axes_of(axis, len(x.shape))
    times = np.asarray(repeats)
    if times.dtype.kind not in "iu" or times.size and times.min() < 0:
        return NotImplemented
    if times.size == 1:
        return ops.repeat(x, axis=k, times=int(times.reshape(())))
    return by_places(x, k, np.repeat(np.arange(x.shape[k]), times))


def resize(a: Any, new_shape: Any) -> Any:
    """`np.resize`: elements again and again, in the order of memory, until the shape is full."""
    x = operand(a)
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    if not x.size or min(shape, default=0) < 0:
        return NotImplemented
    return by_places(x.reshape(-1), 0, np.arange(prod(shape)) % x.size).reshape(shape)


_BY_PLACES = ("edge", "reflect", "symmetric", "wrap")


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """`np.pad`: with a value, or with elements that are there. Modes that compute values are
    NumPy's own.
    """
    x = operand(array)
    if isinstance(pad_width, dict) or mode not in ("constant", *_BY_PLACES):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (len(x.shape), 2))
    if widths.dtype.kind not in "iu" or widths.size and widths.min() < 0:
        return NotImplemented
    if mode == "constant":
        return _padded_by(x, widths, **options)
    if options.get("reflect_type", "even") != "even" or options.keys() - {"reflect_type"}:
        return NotImplemented
    found = array_functions.itself(x)
    for k, (before, after) in enumerate(widths):
        if before or after:
            if not x.shape[k]:
                return NotImplemented
            order = np.pad(np.arange(x.shape[k]), (int(before), int(after)), mode)
            found = by_places(found, k, order)
    return found


def _padded_by(x: Any, widths: np.ndarray, constant_values: Any = 0) -> Any:
    values = np.broadcast_to(np.asarray(constant_values), widths.shape)
    found = x.astype("u8") if x.dtype == BOOL else array_functions.itself(x)
    for k, ends in enumerate(widths):
        for n, value, name in zip(ends, values[k], ("before", "after")):
            if n:
                number = (
                    float(value) if found.dtype.is_float else int(bool(value) if x.dtype == BOOL else value)
                )
                found = ops.pad(found, axis=k, value=number, **{name: int(n)})
    return found.astype(x.dtype)


def filled(x: Any, value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """One number in the shape and dtype of a tensor, or in others. Raises CallError for one that the
    dtype does not hold.
    """
    v = operand(x)
    v = v.detach() if hasattr(v, "detach") else v
    t = array_functions.dtype_of(v) if dtype is None else named(dtype)
    extents = tuple(v.shape if shape is None else (shape,) if isinstance(shape, int) else shape)
    number = np.asarray(value).item()
    if t == BOOL:
        text = str(bool(number)).lower()
    elif t.is_float:
        text = f"{t}({float(number)!r})"
    else:
        lo, hi = int_range(t)
        if not lo <= int(number) <= hi:
            raise CallError(f"{number} does not fit {t}", code="dtype", help="choose a wider dtype")
        text = str(int(number))
    return operator_texts.constant(tuple(v.shape), array_functions.dtype_of(v), extents, t, text)(v)


# Triangles and diagonals


def _zero(x: Any) -> Any:
    return False if x.dtype == BOOL else 0


def on_side(x: Any, k: int, upper: bool) -> Any:
    """Matrices with 0 on one side of a diagonal; truth values as numbers, which the operators take."""
    number = x.astype("u8") if x.dtype == BOOL else x
    return (ops.triu if upper else ops.tril)(number, k=int(k)).astype(x.dtype)


def triangle(upper: bool) -> Callable[..., Any]:
    """`np.triu` and `np.tril`: 0 on one side of a diagonal."""

    def of_matrix(m: Any, k: int = 0) -> Any:
        x = operand(m)
        return on_side(x, k, upper) if len(x.shape) >= 2 else NotImplemented

    return of_matrix


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`np.diagonal`."""
    x = operand(a)
    pair = places((axis1, axis2), len(x.shape))
    if pair is None:
        return NotImplemented
    last = moveaxis(x, pair, (-2, -1))
    first, right = max(-offset, 0), max(offset, 0)
    at = np.arange(max(min(last.shape[-2] - first, last.shape[-1] - right), 0))
    return last[(..., at + first, at + right)]


def diag(v: Any, k: int = 0) -> Any:
    """`np.diag`: the diagonal of a matrix, or a matrix with a diagonal."""
    x = operand(v)
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        return NotImplemented
    n = x.shape[0] + abs(k)
    rows = np.arange(n) - max(-k, 0)
    holds = np.eye(n, k=k, dtype=bool)
    if not x.shape[0]:
        return filled(x, 0, shape=(n, n))
    column = by_places(x, 0, np.clip(rows, 0, x.shape[0] - 1)).reshape(n, 1).broadcast_to((n, n))
    return array_functions.where(holds, column, _zero(x))


def diagflat(v: Any, k: int = 0) -> Any:
    """`np.diagflat`."""
    return diag(strong(v).reshape(-1), k)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """`np.trace`: the sum along a diagonal."""
    found = diagonal(a, offset, axis1, axis2)
    return found if found is NotImplemented else found.sum(-1, dtype=dtype)


# Choices


def take(a: Any, indices: Any, axis: int | None = None) -> Any:
    """`np.take`."""
    x = operand(a)
    indices = indices if hasattr(indices, "dtype") else np.asarray(indices)
    if indices.dtype in (BOOL, np.dtype(bool)):
        return NotImplemented
    if axis is None:
        return x.reshape(-1)[indices]
    (place,) = array_functions.axes_of(axis, len(x.shape))
    return at_axis(x, place, indices)


def _known(places: Any) -> Any:
    """Places that are a tensor as an array: NumPy would call this module again."""
    return np.asarray(places) if is_tensor(places) else places


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """`np.delete`: without the parts at known places of an axis."""
    x = operand(arr)
    if axis is None:
        return delete(x.reshape(-1), obj, 0)
    (k,) = array_functions.axes_of(axis, len(x.shape))
    return by_places(x, k, np.delete(np.arange(x.shape[k]), _known(obj)))


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`np.insert`: with values before known places of an axis, in the dtype of the array."""
    x = strong(arr)
    if axis is None:
        return insert(x.reshape(-1), obj, values, 0)
    if not is_tensor(x):
        return NotImplemented
    (k,) = array_functions.axes_of(axis, len(x.shape))
    extent, rank, obj = x.shape[k], len(x.shape), _known(obj)
    new = cast_any(strong(values), x.dtype)
    found = np.flatnonzero(np.insert(np.zeros(extent, bool), obj, True))
    count = len(found)
    if count == 1:  # several parts may come before one place, along the first axis where it is a number
        new = new.reshape((*[1] * (rank - len(new.shape)), *new.shape))
        new = np.moveaxis(new, 0, k) if not isinstance(obj, slice) and not np.ndim(obj) else new
        count = new.shape[k]
        obj = np.full(count, found[0])
    new = np.broadcast_to(new, (*x.shape[:k], count, *x.shape[k + 1 :]))
    if not count:
        return x
    order = np.insert(np.arange(extent), obj, np.arange(extent, extent + count))
    return by_places(concatenate([x, new], k), k, order)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    """`np.vander`: powers of the elements of a vector, side by side."""
    v = strong(x)
    count = v.shape[0] if N is None else N
    if len(v.shape) != 1 or count < 1 or not is_tensor(v) or v.dtype == BOOL:
        return NotImplemented
    v = cast_any(v, promoted(dtype_of(v), I64))  # as NumPy has it
    powers = [filled(v, 1)]
    for _ in range(count - 1):
        powers.append(powers[-1] * v)
    return stack(powers if increasing else powers[::-1], 1)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """`np.take_along_axis`: for each place of a result an element along an axis."""
    x, at = operand(arr), strong(indices)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if len(at.shape) != len(x.shape) or at.dtype in (BOOL, np.dtype(bool)):
        return NotImplemented
    (k,) = array_functions.axes_of(axis, len(x.shape))
    key = [
        np.arange(n).reshape([-1 if d == j else 1 for j in range(len(x.shape))])
        for d, n in enumerate(x.shape)
    ]
    if any(at.shape[d] not in (1, n) for d, n in enumerate(x.shape) if d != k):
        return NotImplemented
    return x[tuple(at if d == k else places_ for d, places_ in enumerate(key))]


def squeeze(a: Any, axis: Any = None) -> Any:
    """`np.squeeze`."""
    x = operand(a)
    gone = array_functions.axes_of(axis, len(x.shape)) if axis is not None else None
    if gone is not None and any(x.shape[k] != 1 for k in gone):
        return NotImplemented
    return x.squeeze(None if axis is None else tuple(gone or ())) if x.shape else array_functions.itself(x)


REARRANGING: dict[str, Callable[..., Any]] = {
    "moveaxis": moveaxis,
    "rollaxis": rollaxis,
    "matrix_transpose": matrix_transpose,
    "linalg.matrix_transpose": matrix_transpose,
    "broadcast_arrays": broadcast_arrays,
    "meshgrid": meshgrid,
    "flip": flip,
    "fliplr": lambda m: flip(m, 1) if len(m.shape) >= 2 else NotImplemented,
    "flipud": lambda m: flip(m, 0) if len(m.shape) >= 1 else NotImplemented,
    "rot90": rot90,
    "roll": roll,
    "tile": tile,
    "repeat": repeat,
    "resize": resize,
    "delete": delete,
    "insert": insert,
    "vander": vander,
    "pad": pad,
    "tril": triangle(upper=False),
    "triu": triangle(upper=True),
    "diagonal": diagonal,
    "linalg.diagonal": lambda x, /, *, offset=0: diagonal(x, offset, -2, -1),
    "diag": diag,
    "diagflat": diagflat,
    "trace": trace,
    "linalg.trace": lambda x, /, *, offset=0, dtype=None: trace(x, offset, -2, -1, dtype),
    "take": take,
    "take_along_axis": take_along_axis,
    "squeeze": squeeze,
    "ravel": lambda a: operand(a).flatten(),
    "expand_dims": lambda a, axis: operand(a).expand_dims(axis),
    "broadcast_to": lambda array, shape: operand(array).broadcast_to(shape),
    "zeros_like": lambda a, dtype=None, *, shape=None: filled(a, 0, dtype, shape),
    "ones_like": lambda a, dtype=None, *, shape=None: filled(a, 1, dtype, shape),
    "empty_like": lambda prototype, dtype=None, *, shape=None: filled(prototype, 0, dtype, shape),
    "full_like": lambda a, fill_value, dtype=None, *, shape=None: (
        filled(a, fill_value, dtype, shape) if np.ndim(fill_value) == 0 else NotImplemented
    ),
}
"""Functions that move elements, by their names in NumPy."""
