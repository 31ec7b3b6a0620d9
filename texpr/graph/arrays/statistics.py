"""NumPy's differences, slopes, statistics, scans and orders, called on tensors.

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
from texpr.graph.arrays.rearranging import diagonal
from texpr.ir.dtypes import BOOL, F64

# Differences


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """`np.diff`."""
    x = operand(a)
    if n < 0 or x.dtype == BOOL:
        return NotImplemented
    (place,) = array_functions.axes_of(axis, len(x.shape))
    parts = []
    for more in (prepend, x, append):
        if more is not None:
            v = strong(more)
            parts.append(
                np.broadcast_to(v, (*x.shape[:place], 1, *x.shape[place + 1 :])) if not v.shape else v
            )
    x = concatenate(parts, place) if len(parts) > 1 else x
    for _ in range(n):
        x = at_axis(x, place, slice(1, None)) - at_axis(x, place, slice(None, -1))
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """`np.ediff1d`."""
    if to_end is not None or to_begin is not None:
        return NotImplemented
    return diff(strong(ary).reshape(-1))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """`np.trapezoid`: the integral along an axis of lines from value to value."""
    v = strong(y)
    (k,) = array_functions.axes_of(axis, len(v.shape))
    if x is not None:
        at = strong(x)
        d = np.diff(at) if len(at.shape) == 1 else np.diff(at, axis=k)
        dx = d.reshape(tuple(-1 if n == k else 1 for n in range(len(v.shape)))) if len(d.shape) == 1 else d
    high, low = at_axis(v, k, slice(1, None)), at_axis(v, k, slice(None, -1))
    return (dx * (high + low) / 2.0).sum(k)


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


# Statistics


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """`np.average` with weights of the shape of `a`, or without."""
    if returned:
        return NotImplemented
    x = strong(a)
    if weights is None:
        return x.mean(axis, keepdims=keepdims) if is_tensor(x) else NotImplemented
    w = strong(weights)
    if tuple(w.shape) != tuple(x.shape):
        if len(w.shape) != 1 or not isinstance(axis, int) or w.shape[0] != x.shape[axis]:
            return NotImplemented
        k = axis % len(x.shape)
        w = w.reshape(tuple(-1 if n == k else 1 for n in range(len(x.shape))))
    product = x * w
    divisor = np.broadcast_to(w, x.shape).sum(axis, keepdims=keepdims)
    return product.sum(axis, keepdims=keepdims) / divisor


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """`np.ptp`: the largest less the smallest."""
    if out is not None:
        return NotImplemented
    x = operand(a)
    return x.max(axis, keepdims) - x.min(axis, keepdims)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.median` along one axis, or of all."""
    return operand(a).median(axis, keepdims) if axis is None or isinstance(axis, int) else NotImplemented


def quantile(share: float) -> Callable[..., Any]:
    """`np.quantile`, or `np.percentile` with a share of 1/100; of one share or of several."""

    def of_array(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
        shares = np.asarray(q, "f8") * share
        outside = shares.size and not (0 <= shares.min() and shares.max() <= 1)
        if method != "linear" or isinstance(axis, tuple) or shares.ndim > 1 or outside or not operand(a).size:
            return NotImplemented
        found = [operand(a).quantile(float(s), axis, keepdims) for s in shares.reshape(-1)]
        return np.stack(found) if shares.ndim else found[0]

    return of_array


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.count_nonzero`: a tensor."""
    return (operand(a) != 0).sum(axis, keepdims)


def without_nan(name: str, neutral: float, places_: bool = False) -> Callable[..., Any]:
    """`np.nansum` and its kin: NaN counts as the neutral number."""

    def of_array(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        x = operand(a)
        known = array_functions.where(x.isnan(), neutral, x) if x.dtype.is_float else x
        found = getattr(known, name)(axis, **({"keepdims": keepdims} if name[:3] != "cum" else {}))
        if neutral in (0, 1) or not x.dtype.is_float or places_:
            return found
        none = x.isnan().all(axis, keepdims)
        return array_functions.where(none, float("nan"), found)

    return of_array


def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nanmean`."""
    x = operand(a)
    if not x.dtype.is_float:
        return x.mean(axis, keepdims)
    known = ~x.isnan()
    total = array_functions.where(known, x, 0).sum(axis, keepdims)
    return total / known.sum(axis, keepdims).astype(total.dtype)


def nanvar(root: bool) -> Callable[..., Any]:
    """`np.nanvar`, or `np.nanstd`."""

    def of_array(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
        x = operand(a)
        if not x.dtype.is_float:
            return (x.std if root else x.var)(axis, ddof, keepdims)
        known = ~x.isnan()
        apart = array_functions.where(known, x - nanmean(x, axis, keepdims=True), 0)
        count = known.sum(axis, keepdims) - ddof
        total = (apart * apart).sum(axis, keepdims)
        found = array_functions.where(count > 0, total, float("nan")) / array_functions.where(
            count > 0, count, 1
        ).astype(x.dtype)
        return found.sqrt() if root else found

    return of_array


def place_without_nan(name: str, neutral: float) -> Callable[..., Any]:
    """`np.nanargmax`, or `np.nanargmin`. Raises ValueError as NumPy does for nothing but NaN."""

    def of_array(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
        x = operand(a)
        if x.dtype.is_float:
            if bool(x.isnan().all(axis).any()):
                raise ValueError("All-NaN slice encountered")
            x = array_functions.where(x.isnan(), neutral, x)
        return getattr(x, name)(axis, keepdims)

    return of_array


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    """`np.cov` of the rows, or of the columns, of a matrix."""
    x = strong(m)
    if y is not None or len(x.shape) > 2 or not is_tensor(x):
        return NotImplemented
    x = x if x.dtype.is_float else x.astype("f64")
    rows = x.reshape(1, -1) if len(x.shape) < 2 else x if rowvar or x.shape[0] == 1 else x.T
    apart = rows - rows.mean(1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    found = apart @ apart.T / max(rows.shape[1] - less, 0)
    return found.squeeze()


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """`np.corrcoef` of the rows, or of the columns, of a matrix."""
    c = cov(x, y, rowvar)
    if c is NotImplemented:
        return c
    if not c.shape:
        return c / c
    root = diagonal(c).sqrt()
    return (c / root.reshape(-1, 1) / root.reshape(1, -1)).clip(-1, 1)


# Scans


def cumulative(name: str, neutral: int) -> Callable[..., Any]:
    """`np.cumulative_sum` and `np.cumulative_prod`."""

    def of_array(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        v = operand(x)
        if axis is None and len(v.shape) > 1:
            return NotImplemented
        found = getattr(v.reshape(1) if not v.shape else v, name)(axis if v.shape else 0, dtype)
        if not include_initial:
            return found
        (k,) = array_functions.axes_of(-1 if axis is None else axis, len(found.shape))
        return ops.pad(found, axis=k, before=1, value=neutral)

    return of_array


# Orders


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """`np.sort`: every order is stable."""
    del kind, stable
    x = operand(a)
    return NotImplemented if order is not None or not x.shape and axis is not None else x.sort(axis)


def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """`np.argsort`: every order is stable."""
    del kind, stable
    x = operand(a)
    return NotImplemented if order is not None or not x.shape and axis is not None else x.argsort(axis)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """`np.searchsorted`."""
    x, values = alike([a, v])
    if len(x.shape) != 1 or side not in ("left", "right") or x.dtype == BOOL:
        return NotImplemented
    x = x if sorter is None else x[sorter]
    operator = ops.searchsorted if side == "left" else ops.searchsorted_right
    return operator(x, values.reshape(-1)).reshape(tuple(values.shape))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """`np.digitize` for bins that increase and are known."""
    edges = np.asarray(bins)
    if edges.ndim != 1 or edges.size and (np.diff(edges) < 0).any():
        return NotImplemented
    return searchsorted(edges, x, "left" if right else "right")


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


STATISTICS: dict[str, Callable[..., Any]] = {
    "diff": diff,
    "ediff1d": ediff1d,
    "trapezoid": trapezoid,
    "average": average,
    "ptp": ptp,
    "median": median,
    "quantile": quantile(1.0),
    "percentile": quantile(0.01),
    "count_nonzero": count_nonzero,
    "nansum": without_nan("sum", 0),
    "nanprod": without_nan("prod", 1),
    "nancumsum": without_nan("cumsum", 0),
    "nancumprod": without_nan("cumprod", 1),
    "nanmax": without_nan("max", float("-inf")),
    "nanmin": without_nan("min", float("inf")),
    "nanargmax": place_without_nan("argmax", float("-inf")),
    "nanargmin": place_without_nan("argmin", float("inf")),
    "nanmean": nanmean,
    "nanvar": nanvar(root=False),
    "nanstd": nanvar(root=True),
    "cov": cov,
    "corrcoef": corrcoef,
    "cumulative_sum": cumulative("cumsum", 0),
    "cumulative_prod": cumulative("cumprod", 1),
    "sort": sort,
    "argsort": argsort,
    "searchsorted": searchsorted,
    "digitize": digitize,
    "interp": interp,
    "gradient": gradient,
    "unwrap": unwrap,
    "partition": partition,
    "argpartition": argpartition,
    "histogram": histogram,
}
"""Differences, statistics, scans and orders, by their names in NumPy."""
