"""Orders of tensors: methods that sort. The orders are functions of the native runtime, which GPUs lack."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.recorded import recorded
from texpr.ir.dtypes import BOOL, F32, U8
from texpr.support.errors import CallError
from texpr.support.suggest import know_arguments

Array = TypeVar("Array", bound=Any)


class Values(NamedTuple, Generic[Array]):
    """Elements of a tensor, and their places along an axis."""

    values: Array
    indices: Array


@know_arguments
class SortingMethods:
    """Methods that sort along an axis. Equal elements keep their order, NaN counts as the largest."""

    __slots__ = ()

    @recorded
    def argsort(self: Array, axis: int | None = -1, descending: bool = False) -> Array:
        """The places of the elements in order along an axis, or of all in a line (None), i64."""
        operator = ops.argsort_descending if descending else ops.argsort
        return _along(operator, _comparable(self), axis)

    @recorded
    def sort(self: Array, axis: int | None = -1, descending: bool = False) -> Array:
        """The elements in order along an axis, or all in a line (None): a tensor, as of `np.sort`."""
        operator = ops.sort_descending if descending else ops.sort
        return _along(operator, _comparable(self), axis).astype(self.dtype)

    def _values_and_places(
        self: Array,
        name: str,
        *,
        dim: int,
        keepdim: bool = False,
        descending: bool = False,
        stable: bool = True,
    ) -> Values[Array]:
        """`max`, `min` and `sort` over `dim`, as torch has them: values, and their places.

        Raises:
            CallError: an axis that is not there; `keepdim` of an order, `descending` of an extreme.
        """
        (axis,) = array_functions.axes_of(dim, len(self.shape))
        if keepdim if name == "sort" else descending:
            other = "keepdim" if name == "sort" else "descending"
            raise CallError(f"{name} has no `{other}`", code="arguments", help=f"leave `{other}` out")
        if name == "sort":
            places = self.argsort(axis, descending)
            return Values(ops.gather(self, places, axis=axis), places)
        largest = (self.argmax if name == "max" else self.argmin)(axis)
        places = largest.expand_dims(axis)
        values = ops.gather(self, places, axis=axis)
        return Values(values, places) if keepdim else Values(values.squeeze(axis), largest)

    @recorded
    def topk(self: Array, k: int, axis: int = -1, largest: bool = True) -> Values[Array]:
        """The k largest or smallest elements along an axis, in order, and their places.

        Raises:
            CallError: the axis has fewer elements.
        """
        (at,) = array_functions.axes_of(axis, len(self.shape))
        if not 0 <= k <= self.shape[at]:
            raise CallError(f"the {k} largest of {self.shape[at]} elements", code="arguments")
        if largest:
            last = _comparable(self).swapaxes(at, -1)
            values, places = ops.topk(last, k=k)
            return Values(values.swapaxes(at, -1).astype(self.dtype), places.swapaxes(at, -1))
        places = self.argsort(at)[(slice(None),) * at + (slice(0, k),)]
        return Values(ops.gather(self, places, axis=at), places)

    @recorded
    def cummax(self: Array, axis: int) -> Values[Array]:
        """The largest up to each place of an axis, and its place: the last one of equal elements."""
        return _running(ops.cummax_places, self, axis)

    @recorded
    def cummin(self: Array, axis: int) -> Values[Array]:
        """The smallest up to each place of an axis, and its place: the last one of equal elements."""
        return _running(ops.cummin_places, self, axis)

    @recorded
    def logcumsumexp(self: Array, axis: int) -> Array:
        """Logarithms of sums of exponentials up to each place of an axis; never overflows."""
        (at,) = array_functions.axes_of(axis, len(self.shape))
        return ops.logcumsumexp(self if self.dtype.is_float else self.astype("f32"), axis=at)

    def median(self: Array, axis: int | None = None, keepdims: bool = False) -> Array:
        """The middle element in order along an axis, or of all; the mean of two for an even number, as
        `np.median`. NaN if there is one.
        """
        return self.quantile(0.5, axis, keepdims)

    def quantile(self: Array, q: float, axis: int | None = None, keepdims: bool = False) -> Array:
        """The value below which a share `q` of the elements lies, linear between two elements. NaN if
        there is one.

        Raises:
            CallError: `q` is outside 0 to 1, or there are no elements.
        """
        x = self if self.dtype.is_float else self.astype("f64")
        (at,) = (0,) if axis is None else array_functions.axes_of(axis, len(x.shape))
        line = x.reshape(-1) if axis is None else x
        count = line.shape[at]
        if not 0 <= q <= 1 or not count:
            raise CallError(
                f"the quantile {q!r} of {count} elements", code="arguments", help="q is in 0 to 1"
            )
        ordered, place = line.sort(at), q * (count - 1)
        low = int(place)
        parts = [ordered[(slice(None),) * at + (k,)] for k in (low, min(low + 1, count - 1), count - 1)]
        found = parts[0] + (parts[1] - parts[0]) * (place - low)
        found = array_functions.where(parts[2].isnan(), parts[2], found)
        if not keepdims:
            return found
        return found.reshape((1,) * len(x.shape)) if axis is None else found.expand_dims(at)

    def unique(self: Array) -> Array:
        """The different elements in order. Their number is known once they are: computed now.

        Raises:
            CallError: a gradient would have to flow through it.
        """
        if self.requires_grad and not self.stops:
            raise CallError(
                "unique of a tensor that requires a gradient", code="gradient", help="x.detach().unique()"
            )
        ordered = self.sort(None)
        if not ordered.shape[0]:
            return ordered
        new = array_functions.where(ordered[1:] != ordered[:-1], True, False).numpy()
        return ordered[[0, *(int(k) + 1 for k in new.nonzero()[0])]]


def _comparable(x: Any) -> Any:
    """A tensor in a dtype that the runtime orders."""
    if x.dtype == BOOL:
        return x.astype(U8)
    return x.astype(F32) if x.dtype.as_bits else x


def _running(operator: Any, x: Any, axis: int) -> Values[Any]:
    (at,) = array_functions.axes_of(axis, len(x.shape))
    values, places = operator(_comparable(x), axis=at)
    return Values(values.astype(x.dtype), places)


def _along(operator: Any, x: Any, axis: int | None) -> Any:
    if axis is None or not x.shape:
        return operator(x.reshape(-1))
    (at,) = array_functions.axes_of(axis, len(x.shape))
    last = len(x.shape) - 1
    return operator(x) if at == last else operator(x.swapaxes(at, last)).swapaxes(at, last)
