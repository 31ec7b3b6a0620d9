"""Functions of the standard that collect elements: sums, means, places of extremes, sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from texpr.graph.array_api.arranging import answered, axis_within
from texpr.graph.array_api.data_types import dtype_named
from texpr.graph.arrays import statistics
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import tensor
from texpr.ir.dtypes import DType
from texpr.support.errors import CallError

Axis = int | tuple[int, ...] | None


def _type(dtype: Any) -> DType | None:
    return None if dtype is None else dtype_named(dtype)


def sum(x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The sum over some axes, or all; integers become i64, or u64.

    Example:
        >>> xp = tx.array_api
        >>> xp.sum(xp.asarray([1, 2])).item()
        3
    """
    return x.sum(axis, keepdims, dtype=_type(dtype))


def prod(x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over some axes, or all; integers become i64, or u64.

    Example:
        >>> xp = tx.array_api
        >>> xp.prod(xp.asarray([2, 3])).item()
        6
    """
    return x.prod(axis, keepdims, dtype=_type(dtype))


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over some axes, or all.

    Example:
        >>> xp = tx.array_api
        >>> xp.mean(xp.asarray([1.0, 2.0])).item()
        1.5
    """
    return x.mean(axis, keepdims)


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The mean squared difference from the mean, over n - correction.

    Example:
        >>> xp = tx.array_api
        >>> xp.var(xp.asarray([1.0, 3.0])).item()
        1.0
    """
    return x.var(axis, correction, keepdims)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The root of the variance.

    Example:
        >>> xp = tx.array_api
        >>> xp.std(xp.asarray([1.0, 3.0])).item()
        1.0
    """
    return x.std(axis, correction, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The largest over some axes, or all; NaN if there is one.

    Example:
        >>> xp = tx.array_api
        >>> xp.max(xp.asarray([1, 3])).item()
        3
    """
    return x.max(axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The smallest over some axes, or all; NaN if there is one.

    Example:
        >>> xp = tx.array_api
        >>> xp.min(xp.asarray([1, 3])).item()
        1
    """
    return x.min(axis, keepdims)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """True where all elements over some axes hold, or are not 0.

    Example:
        >>> xp = tx.array_api
        >>> xp.all(xp.asarray([True, False])).item()
        False
    """
    return x.all(axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """True where some element over some axes holds, or is not 0.

    Example:
        >>> xp = tx.array_api
        >>> xp.any(xp.asarray([True, False])).item()
        True
    """
    return x.any(axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The number of elements that are not 0.

    Example:
        >>> xp = tx.array_api
        >>> xp.count_nonzero(xp.asarray([0, 5, 6])).item()
        2
    """
    return statistics.count_nonzero(x, axis, keepdims=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first largest element along an axis, or of all.

    Example:
        >>> xp = tx.array_api
        >>> xp.argmax(xp.asarray([1, 3, 2])).item()
        1
    """
    return x.argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first smallest element along an axis, or of all.

    Example:
        >>> xp = tx.array_api
        >>> xp.argmin(xp.asarray([1, 3, 2])).item()
        0
    """
    return x.argmin(axis, keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Sums up to each place of an axis; with 0 in front if asked for.

    Example:
        >>> xp = tx.array_api
        >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True).tolist()
        [0, 1, 3, 6]
    """
    f = statistics.cumulative("cumsum", 0)
    return answered(f(x, axis=axis, dtype=_type(dtype), include_initial=include_initial), "cumulative_sum")


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Products up to each place of an axis; with 1 in front if asked for.

    Example:
        >>> xp = tx.array_api
        >>> xp.cumulative_prod(xp.asarray([1, 2, 3])).tolist()
        [1, 2, 6]
    """
    f = statistics.cumulative("cumprod", 1)
    return answered(f(x, axis=axis, dtype=_type(dtype), include_initial=include_initial), "cumulative_prod")


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours along an axis, n times.

    Example:
        >>> xp = tx.array_api
        >>> xp.diff(xp.asarray([1, 4, 9])).tolist()
        [3, 5]
    """
    axis_within(axis, len(x.shape))
    return answered(statistics.diff(x, n, axis, prepend, append), "diff")


class UniqueAll(NamedTuple):
    """Different elements, the first place of each, the place of each element among them, their numbers."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Different elements, and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Different elements, and the place of each element among them."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements with their places and numbers: computed now. Each NaN is different.

    Raises:
        CallError: a gradient would have to flow.
    Example:
        >>> xp = tx.array_api
        >>> found = xp.unique_all(xp.asarray([5, 6, 5]))
        >>> found.values.tolist(), found.counts.tolist()
        ([5, 6], [2, 1])
    """
    if x.requires_grad and not x.stops:
        raise CallError("unique_all of a tensor that requires a gradient", code="gradient", help="x.detach()")
    line = x.reshape(-1)
    order = line.argsort().numpy()
    ordered = line.numpy()[order]
    first = np.ones(ordered.shape, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    begins = np.nonzero(first)[0]
    inverse = np.empty(ordered.shape, np.int64)
    inverse[order] = np.cumsum(first) - 1
    counts = np.diff(np.append(begins, ordered.size)).astype(np.int64)
    return UniqueAll(
        tensor(ordered[begins], x.dtype),
        tensor(order[begins].astype(np.int64)),
        tensor(inverse.reshape(x.shape)),
        tensor(counts),
    )


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements and how often each is there: computed now.

    Example:
        >>> xp = tx.array_api
        >>> xp.unique_counts(xp.asarray([5, 6, 5])).counts.tolist()
        [2, 1]
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements and the place of each element among them: computed now.

    Example:
        >>> xp = tx.array_api
        >>> xp.unique_inverse(xp.asarray([5, 6, 5])).inverse_indices.tolist()
        [0, 1, 0]
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements in order: computed now.

    Example:
        >>> xp = tx.array_api
        >>> xp.unique_values(xp.asarray([5, 6, 5])).tolist()
        [5, 6]
    """
    return unique_all(x).values
