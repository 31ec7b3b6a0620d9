"""NumPy's functions of samples along an axis, called on tensors: convolutions, values between samples,
slopes, counts in bins.

Arguments for which a function has no operator give NotImplemented: NumPy's own is called then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.array_functions import cast_any, dtype_of, operand
from texpr.graph.arrays.joins_and_splits import concatenate
from texpr.graph.arrays.numpy_operands import alike, at_axis, is_tensor, places, strong
from texpr.graph.arrays.statistics import diff
from texpr.ir.dtypes import BOOL, F64

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


# Lines between samples


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """`np.interp` of places that increase: f64, as NumPy has it. `ops.interp` keeps the dtype."""
    at, known, values = (cast_any(strong(each), F64) for each in (x, xp, fp))
    if period is not None or len(known.shape) != 1 or known.shape != values.shape or not known.shape[0]:
        return NotImplemented
    found = ops.interp(at.reshape(-1), known, values).reshape(tuple(at.shape))
    for outside, value in ((at < known[0], left), (at > known[-1], right)):
        found = found if value is None else array_functions.where(outside, value, found)
    return found


def _steps(spacing: Any, extent: int) -> Any:
    """Distances between the samples of an axis of an extent: a number, or the differences of places;
    None where there is not a place for each sample.
    """
    h = strong(spacing)
    if not h.shape:
        return h
    return diff(h) if len(h.shape) == 1 and h.shape[0] == extent else None


def _slopes(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Differences along an axis: inside of second order, at the ends of first or second order.

    Fornberg, Generation of Finite Difference Formulas on Arbitrarily Spaced Grids, 1988.
    """
    rank = len(f.shape)

    def at(low: int | None, high: int | None) -> Any:
        return at_axis(f, axis, slice(low, high))

    def along(part: Any) -> Any:
        return part.reshape(tuple(-1 if k == axis else 1 for k in range(rank)))

    if h.shape:
        one, two = along(h[:-1]), along(h[1:])
        low = -two / (one * (one + two))
        inside = low * at(None, -2) + (two - one) / (one * two) * at(1, -1)
        inside = inside + one / (two * (one + two)) * at(2, None)
        first, last = (h[0], h[1] if edge_order == 2 else None), (h[-1], h[-2] if edge_order == 2 else None)
    else:
        inside = (at(2, None) - at(None, -2)) / (2.0 * h)
        first = last = (h, h)
    if edge_order == 1:
        ends = (at(1, 2) - at(None, 1)) / first[0], (at(-1, None) - at(-2, -1)) / last[0]
    else:
        ends = (
            _end((at(None, 1), at(1, 2), at(2, 3)), *first),
            -_end((at(-1, None), at(-2, -1), at(-3, -2)), *last),
        )
    return concatenate([ends[0], inside, ends[1]], axis)


def _end(samples: tuple[Any, Any, Any], near: Any, far: Any) -> Any:
    """The slope at the first of three samples, of second order."""
    a, b, c = samples
    weight = -(2.0 * near + far) / (near * (near + far))
    return weight * a + (near + far) / (near * far) * b - near / (far * (near + far)) * c


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """`np.gradient`: for each axis the slopes of a tensor, with distances or places for each."""
    x = strong(f)
    rank = len(x.shape)
    axes = list(range(rank)) if axis is None else places(tuple(np.atleast_1d(axis).tolist()), rank)
    if axes is None or len(varargs) not in (0, 1, len(axes)) or edge_order not in (1, 2):
        return NotImplemented
    given = list(varargs) or [1.0]
    given = given * len(axes) if len(given) == 1 and not np.ndim(given[0]) else given
    if len(given) != len(axes) or x.dtype == BOOL or any(x.shape[k] <= edge_order for k in axes):
        return NotImplemented
    x = x if getattr(dtype_of(x), "is_float", False) else cast_any(x, F64)
    distances = [_steps(each, x.shape[k]) for each, k in zip(given, axes)]
    if any(h is None for h in distances):
        return NotImplemented
    # NumPy stores slopes in the dtype of the samples, whatever the distances are.
    found = tuple(cast_any(_slopes(x, h, k, edge_order), dtype_of(x)) for h, k in zip(distances, axes))
    return found[0] if len(axes) == 1 else found


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """`np.unwrap`: angles without the jumps of whole periods."""
    x = strong(p)
    if not dtype_of(x).is_float or not len(x.shape):
        return NotImplemented
    (k,) = array_functions.axes_of(axis, len(x.shape))
    step = diff(x, axis=k)
    half = period / 2
    wrapped = (step + half) % period - half
    wrapped = array_functions.where((wrapped == -half) & (step > 0), half, wrapped)
    least = half if discont is None else discont
    correction = array_functions.where(abs(step) < least, 0.0, wrapped - step)
    first = at_axis(x, k, slice(None, 1))
    return concatenate([first, at_axis(x, k, slice(1, None)) + correction.cumsum(k)], k)


# Orders and counts


def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    """`np.partition`: all elements in order, which is one of the results that it may have."""
    del kth, kind
    return NotImplemented if order is not None or not strong(a).shape else np.sort(a, axis)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """`np.argpartition`: the places of all elements in order."""
    del kth, kind
    return NotImplemented if order is not None or not strong(a).shape else np.argsort(a, axis)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """`np.histogram` for edges that are given: how many elements lie between them."""
    del range
    x = operand(a)
    if density or weights is not None or not is_tensor(x) or x.dtype == BOOL or not x.size:
        return NotImplemented
    edges = np.asarray(bins)
    if edges.ndim != 1 or len(edges) < 2 or (np.diff(edges) < 0).any():
        return NotImplemented
    line, ends = alike([x.reshape(-1).detach(), edges])
    ordered = line.sort()
    before = concatenate([np.searchsorted(ordered, ends[:-1]), np.searchsorted(ordered, ends[-1:], "right")])
    return diff(before), edges


SAMPLES: dict[str, Callable[..., Any]] = {
    "convolve": convolve,
    "correlate": correlate,
    "interp": interp,
    "gradient": gradient,
    "unwrap": unwrap,
    "partition": partition,
    "argpartition": argpartition,
    "histogram": histogram,
}
"""Functions of samples along an axis, by their names in NumPy."""
