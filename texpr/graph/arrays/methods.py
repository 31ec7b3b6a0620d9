"""NumPy's operators and methods, for everything that stands for an array: each is an operator of
the language, applied.

Memory is never changed in place: `x += y` and `x.add_(y)` give `x` another value, and slices are
values of their own.
"""

from __future__ import annotations

from math import prod
from typing import Any, Self

from texpr import ops
from texpr.graph.arrays import array_functions, binary, numpy_dispatch, ufuncs
from texpr.graph.arrays.elementary import Elementary
from texpr.graph.arrays.in_place_methods import InPlaceMethods
from texpr.graph.arrays.promotion import named
from texpr.graph.arrays.recorded import Recorded, arithmetic, recorded
from texpr.graph.arrays.sorting_methods import SortingMethods
from texpr.graph.arrays.torch_methods import TorchMethods
from texpr.ir.dtypes import BOOL, I8, DType
from texpr.support.elsewhere import TENSOR
from texpr.support.errors import CallError
from texpr.support.shaped import Shaped
from texpr.support.suggest import suggests
from texpr.support.tracebacks import boundary, hide_frames

Axis = int | tuple[int, ...] | list[int] | None


class ArrayOperators(Recorded):
    """Python's operators on arrays."""

    __slots__ = ()
    shape: tuple[int, ...]
    dtype: DType
    __hash__ = object.__hash__

    @boundary
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: object) -> Any:
        return ufuncs.apply_ufunc(ufunc.__name__, method, inputs, options)

    @boundary
    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return numpy_dispatch.dispatch(function, arguments, options)

    @arithmetic
    def __add__(self, other: object) -> Self:
        return binary.apply_binary("add", self, other)

    @arithmetic
    def __radd__(self, other: object) -> Self:
        return binary.apply_binary("add", other, self)

    @arithmetic
    def __sub__(self, other: object) -> Self:
        return binary.apply_binary("subtract", self, other)

    @arithmetic
    def __rsub__(self, other: object) -> Self:
        return binary.apply_binary("subtract", other, self)

    @arithmetic
    def __mul__(self, other: object) -> Self:
        return binary.apply_binary("multiply", self, other)

    @arithmetic
    def __rmul__(self, other: object) -> Self:
        return binary.apply_binary("multiply", other, self)

    @arithmetic
    def __truediv__(self, other: object) -> Self:
        return binary.apply_binary("divide", self, other)

    @arithmetic
    def __rtruediv__(self, other: object) -> Self:
        return binary.apply_binary("divide", other, self)

    @recorded
    def __floordiv__(self, other: object) -> Self:
        return binary.apply_binary("floor_divide", self, other)

    @recorded
    def __rfloordiv__(self, other: object) -> Self:
        return binary.apply_binary("floor_divide", other, self)

    @recorded
    def __mod__(self, other: object) -> Self:
        return binary.apply_binary("remainder", self, other)

    @recorded
    def __rmod__(self, other: object) -> Self:
        return binary.apply_binary("remainder", other, self)

    @recorded
    def __pow__(self, other: object) -> Self:
        return binary.apply_binary("power", self, other)

    @recorded
    def __rpow__(self, other: object) -> Self:
        return binary.apply_binary("power", other, self)

    @boundary
    def __divmod__(self, other: object) -> tuple[Self, Self]:
        return self // other, self % other

    @boundary
    def __rdivmod__(self, other: object) -> tuple[Self, Self]:
        return binary.apply_binary("floor_divide", other, self), binary.apply_binary("remainder", other, self)

    @recorded
    def __lshift__(self, other: object) -> Self:
        return binary.apply_binary("left_shift", self, other)

    @recorded
    def __rlshift__(self, other: object) -> Self:
        return binary.apply_binary("left_shift", other, self)

    @recorded
    def __rshift__(self, other: object) -> Self:
        return binary.apply_binary("right_shift", self, other)

    @recorded
    def __rrshift__(self, other: object) -> Self:
        return binary.apply_binary("right_shift", other, self)

    @recorded
    def __and__(self, other: object) -> Self:
        return binary.apply_binary("bitwise_and", self, other)

    @recorded
    def __or__(self, other: object) -> Self:
        return binary.apply_binary("bitwise_or", self, other)

    @recorded
    def __xor__(self, other: object) -> Self:
        return binary.apply_binary("bitwise_xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @recorded
    def __invert__(self) -> Self:
        if self.dtype.is_float:
            raise CallError(f"~ of {self.dtype}", code="dtype", help="it is for integers and booleans")
        return array_functions.unary(
            "invert", "not {0}" if self.dtype == BOOL else "-{0} - 1", self, self.dtype
        )

    @recorded
    def __neg__(self) -> Self:
        if self.dtype == BOOL:
            raise CallError("- of booleans", code="dtype", help="~ exchanges true and false")
        return array_functions.unary("negative", "-{0}", self, self.dtype)

    def __pos__(self) -> Self:
        return array_functions.itself(self)

    @recorded
    def __abs__(self) -> Self:
        return (
            array_functions.unary("absolute", "abs({0})", self, self.dtype)
            if self.dtype.is_signed
            else array_functions.itself(self)
        )

    @recorded
    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return binary.compare("equal", self, other) if array_functions.is_operand(other) else NotImplemented  # type: ignore[return-value]

    @recorded
    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return (
            binary.compare("not_equal", self, other) if array_functions.is_operand(other) else NotImplemented
        )  # type: ignore[return-value]

    @recorded
    def __lt__(self, other: object) -> Self:
        return binary.compare("less", self, other)

    @recorded
    def __le__(self, other: object) -> Self:
        return binary.compare("less_equal", self, other)

    @recorded
    def __gt__(self, other: object) -> Self:
        return binary.compare("greater", self, other)

    @recorded
    def __ge__(self, other: object) -> Self:
        return binary.compare("greater_equal", self, other)

    @recorded
    def __matmul__(self, other: object) -> Self:
        return array_functions.matmul(self, other)

    @recorded
    def __rmatmul__(self, other: object) -> Self:
        return array_functions.matmul(other, self)

    def __getitem__(self, key: object) -> Self:
        return array_functions.select(self, key)

    def __len__(self) -> int:
        if not self.shape:
            try:
                raise TypeError("a single number has no length")
            except TypeError as error:
                hide_frames(error)
                raise
        return self.shape[0]


@suggests(TENSOR)
class ArrayMethods(ArrayOperators, TorchMethods, SortingMethods, Elementary, InPlaceMethods, Shaped):
    """Methods of values with a shape and a dtype that take part in calls of operators."""

    __slots__ = ()

    @property
    @recorded
    def T(self) -> Self:  # noqa: N802
        """All axes in the opposite order."""
        return array_functions.permute(self, range(self.ndim)[::-1])

    @recorded
    def astype(self, dtype: object) -> Self:
        """The same values in another dtype; towards zero where integers are made of floats."""
        return array_functions.cast(self, named(dtype))

    @recorded
    def reshape(self, *shape: Any, order: str = "C") -> Self:
        """The same elements in another shape, in the order of memory; one extent may be -1."""
        if order != "C":
            raise CallError(
                f"elements are in the order C of memory, not {order!r}",
                code="arguments",
                help="transpose before and after",
            )
        return array_functions.reshape(
            self, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        )

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """All elements in a line, or the axes from `start_dim` to `end_dim`, that one included."""
        rank = max(self.ndim, 1)
        (first,), (last,) = array_functions.axes_of(start_dim, rank), array_functions.axes_of(end_dim, rank)
        if first > last:
            raise CallError(f"axes from {start_dim} to {end_dim} of {rank}", code="axis")
        return self.reshape(
            (*self.shape[:first], prod(self.shape[first : last + 1]), *self.shape[last + 1 :])
        )

    def ravel(self) -> Self:
        """All elements in a line."""
        return self.reshape(-1)

    @recorded
    def transpose(self, *order: Any) -> Self:
        """Axis k of the result is axis `order[k]`; without an order, all in the opposite one. Two
        numbers exchange these axes, as in torch, where there are not two axes.
        """
        if len(order) == 2 and self.ndim != 2:
            return self.swapaxes(*order)
        given = (
            order[0]
            if len(order) == 1 and (order[0] is None or isinstance(order[0], tuple | list))
            else order
        )
        return array_functions.permute(self, given) if given else self.T

    @recorded
    def swapaxes(self, a: int, b: int) -> Self:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        (i,), (j,) = array_functions.axes_of(a, self.ndim), array_functions.axes_of(b, self.ndim)
        order[i], order[j] = j, i
        return array_functions.permute(self, order)

    @recorded
    def squeeze(self, axis: Axis = None) -> Self:
        """Without axes of extent 1: these, or all there are."""
        gone = (
            [k for k, n in enumerate(self.shape) if n == 1]
            if axis is None
            else array_functions.axes_of(axis, self.ndim)
        )
        if any(self.shape[k] != 1 for k in gone):
            raise CallError(f"axes {gone} of {list(self.shape)} are not all of extent 1", code="axis")
        return self.reshape(tuple(n for k, n in enumerate(self.shape) if k not in gone))

    @recorded
    def expand_dims(self, axis: int | tuple[int, ...]) -> Self:
        """With axes of extent 1: `axis` of the result, or each of several."""
        rank = self.ndim + (len(axis) if isinstance(axis, tuple | list) else 1)
        new, rest = array_functions.axes_of(axis, rank), iter(self.shape)
        return self.reshape(tuple(1 if k in new else next(rest) for k in range(rank)))

    unsqueeze = expand_dims

    @recorded
    def broadcast_to(self, *shape: Any) -> Self:
        """Repeated along axes of extent 1, and along new ones in front."""
        return array_functions.broadcast_to(
            self, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        )

    @recorded
    def sum(
        self, axis: Axis = None, keepdims: bool = False, *, dtype: object = None, out: None = None
    ) -> Self:
        """The sum over some axes, or all; integers become i64, or u64. `dtype` is what the elements
        are converted to first.
        """
        return array_functions.reduce("sum", self, axis, keepdims, dtype, out)

    @recorded
    def prod(
        self, axis: Axis = None, keepdims: bool = False, *, dtype: object = None, out: None = None
    ) -> Self:
        """The product over some axes, or all; integers become i64, or u64."""
        return array_functions.reduce("prod", self, axis, keepdims, dtype, out)

    @recorded
    def mean(
        self, axis: Axis = None, keepdims: bool = False, *, dtype: object = None, out: None = None
    ) -> Self:
        """The mean over some axes, or all; integers become f64."""
        return array_functions.reduce("mean", self, axis, keepdims, dtype, out)

    @recorded
    def var(
        self,
        axis: Axis = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        dtype: object = None,
        out: None = None,
    ) -> Self:
        """The mean squared difference from the mean, over n - ddof, or over 0 where that is
        negative.
        """
        return array_functions.reduce("var", self, axis, keepdims, dtype, out, ddof)

    @recorded
    def std(
        self,
        axis: Axis = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        dtype: object = None,
        out: None = None,
    ) -> Self:
        """The root of the variance; its gradient is 0 where it is 0."""
        return array_functions.reduce("std", self, axis, keepdims, dtype, out, ddof)

    @recorded
    def max(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> Self:
        """The largest over some axes, or all; NaN if there is one."""
        return array_functions.reduce("max", self, axis, keepdims, out=out)

    @recorded
    def min(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> Self:
        """The smallest over some axes, or all; NaN if there is one."""
        return array_functions.reduce("min", self, axis, keepdims, out=out)

    @recorded
    def any(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> Self:
        """True where some element holds."""
        return array_functions.reduce("any", self, axis, keepdims, out=out)

    @recorded
    def all(self, axis: Axis = None, keepdims: bool = False, *, out: None = None) -> Self:
        """True where all elements hold."""
        return array_functions.reduce("all", self, axis, keepdims, out=out)

    @recorded
    def argmax(self, axis: int | None = None, keepdims: bool = False, *, out: None = None) -> Self:
        """The place of the first largest element along an axis, or of all."""
        return array_functions.place("argmax", self, axis, keepdims, out)

    @recorded
    def argmin(self, axis: int | None = None, keepdims: bool = False, *, out: None = None) -> Self:
        """The place of the first smallest element along an axis, or of all."""
        return array_functions.place("argmin", self, axis, keepdims, out)

    @recorded
    def cumsum(self, axis: int | None = None, dtype: object = None, out: None = None) -> Self:
        """Sums up to each place of an axis, or of all elements in a line; integers become i64,
        or u64.
        """
        return array_functions.cumulated(ops.cumsum, self, axis, dtype, out)

    @recorded
    def cumprod(self, axis: int | None = None, dtype: object = None, out: None = None) -> Self:
        """Products up to each place of an axis, or of all elements in a line; integers become
        i64, or u64.
        """
        return array_functions.cumulated(ops.cumprod, self, axis, dtype, out)

    @recorded
    def clip(self, lo: object = None, hi: object = None, *, out: None = None) -> Self:
        """Not below `lo`, not above `hi`."""
        array_functions.refuse_out(out)
        above = self if lo is None else binary.apply_binary("maximum", self, lo)
        return array_functions.itself(above) if hi is None else binary.apply_binary("minimum", above, hi)

    @recorded
    def maximum(self, other: object) -> Self:
        """The larger of both, element by element."""
        return binary.apply_binary("maximum", self, other)

    @recorded
    def minimum(self, other: object) -> Self:
        """The smaller of both, element by element."""
        return binary.apply_binary("minimum", self, other)

    @recorded
    def round(self, decimals: int = 0, out: None = None) -> Self:
        """Rounded to the nearest multiple of 10^-decimals, ties to even."""
        return array_functions.rounded(self, decimals, out)

    @recorded
    def __round__(self, decimals: int = 0) -> Self:
        return self.round(decimals)

    @recorded
    def floor(self) -> Self:
        """The largest whole number not above."""
        return (
            array_functions.unary("floor", "floor({0})", self, self.dtype)
            if self.dtype.is_float
            else array_functions.itself(self)
        )

    @recorded
    def ceil(self) -> Self:
        """The smallest whole number not below."""
        return (
            array_functions.unary("ceil", "ceil({0})", self, self.dtype)
            if self.dtype.is_float
            else array_functions.itself(self)
        )

    def abs(self) -> Self:
        """The absolute value."""
        return abs(self)

    @recorded
    def square(self) -> Self:
        """x times itself."""
        return array_functions.unary("square", "{0} * {0}", self, I8 if self.dtype == BOOL else self.dtype)

    @recorded
    def relu(self) -> Self:
        """max(x, 0), whose gradient at 0 is 0."""
        return array_functions.unary("relu", "max({0}, 0)", self, self.dtype)

    @recorded
    def softmax(self, axis: int = -1) -> Self:
        """exp(x) over its sum along an axis."""
        return array_functions.softmax(ops.softmax, self, axis)

    @recorded
    def log_softmax(self, axis: int = -1) -> Self:
        """The logarithm of softmax."""
        return array_functions.softmax(ops.log_softmax, self, axis)

    @recorded
    def isnan(self) -> Self:
        """True if an element is not a number."""
        return array_functions.test("isnan", self)

    @recorded
    def isinf(self) -> Self:
        """True if an element is infinite."""
        return array_functions.test("isinf", self)

    @recorded
    def isfinite(self) -> Self:
        """True if an element is a finite number."""
        return array_functions.test("isfinite", self)
