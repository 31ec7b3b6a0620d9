"""Methods of tensors by torch's names. Each is one of NumPy's, or an operator of the library."""

from __future__ import annotations

from math import prod
from typing import Any, Self, TypeVar

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph.arrays import array_functions, binary, operator_texts, rearranging, statistics
from texpr.graph.arrays.array_functions import axes_of
from texpr.graph.arrays.recorded import Recorded, recorded
from texpr.graph.arrays.size import Size
from texpr.ir.dtypes import BOOL, I64, DType, largest
from texpr.support.errors import CallError
from texpr.support.suggest import know_arguments

Array = TypeVar("Array", bound=Any)
Axis = int | tuple[int, ...] | list[int] | None


@know_arguments
class TorchDtypes:
    """Conversions, which torch names after the types of C. A class of their own: their names hide those
    of Python's types.
    """

    __slots__ = ()

    def float(self: Array) -> Array:
        """As f32."""
        return self.astype("f32")

    def double(self: Array) -> Array:
        """As f64."""
        return self.astype("f64")

    def half(self: Array) -> Array:
        """As f16."""
        return self.astype("f16")

    def bfloat16(self: Array) -> Array:
        """As bf16."""
        return self.astype("bf16")

    def long(self: Array) -> Array:
        """As i64."""
        return self.astype("i64")

    def int(self: Array) -> Array:
        """As i32."""
        return self.astype("i32")

    def short(self: Array) -> Array:
        """As i16."""
        return self.astype("i16")

    def bool(self: Array) -> Array:
        """As truth values: True where an element is not 0."""
        return self.astype("bool")

    def type_as(self: Array, other: Any) -> Array:
        """In the dtype of another tensor."""
        return self.astype(other.dtype)


@know_arguments
class TorchMethods(TorchDtypes, Recorded):
    """Methods that torch has beside those of NumPy."""

    __slots__ = ()
    shape: tuple[int, ...]
    dtype: DType

    @property
    def size(self) -> Size:
        """The number of elements; called, the shape: `x.size()`, `x.size(0)`."""
        return Size(prod(self.shape), self.shape)

    def dim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    ndimension = dim

    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    nelement = numel

    def is_floating_point(self) -> bool:
        """True if the dtype is of floats."""
        return self.dtype.is_float

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.bytes

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.dtype.bytes * prod(self.shape)

    # Shapes

    def view(self: Array, *shape: Any) -> Array:
        """`reshape`: a value of its own, as all tensors are."""
        return self.reshape(*shape)

    def view_as(self: Array, other: Any) -> Array:
        """The same elements in the shape of another tensor."""
        return self.reshape(other.shape)

    reshape_as = view_as

    def permute(self: Array, *dims: Any) -> Array:
        """Axis k of the result is axis `dims[k]`."""
        return self.transpose(tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims)

    def t(self: Array) -> Array:
        """A matrix transposed.

        Raises:
            CallError: more than two axes.
        """
        if len(self.shape) > 2:
            raise CallError(f"t() of {len(self.shape)} axes", code="axis", help="x.T, or x.swapaxes(-1, -2)")
        return self.T

    @property
    def mT(self: Array) -> Array:  # noqa: N802
        """The last two axes exchanged."""
        return self.swapaxes(-1, -2)

    @recorded
    def movedim(self: Array, source: Any, destination: Any) -> Array:
        """Axes moved to other places, the others in their order.

        Raises:
            CallError: an axis that is not there or the same twice; more sources than destinations.
        """
        pair = [tuple(v) if isinstance(v, tuple | list) else (v,) for v in (source, destination)]
        for axes in pair:
            axes_of(axes, len(self.shape))
        if len(pair[0]) != len(pair[1]):
            raise CallError(
                f"{len(pair[0])} axes are moved to {len(pair[1])} places",
                code="arguments",
                help="give a place for each axis",
            )
        return rearranging.moveaxis(self, *pair)

    @recorded
    def expand(self: Array, *shape: Any) -> Array:
        """Repeated along axes of extent 1, and along new ones in front; -1 keeps an extent."""
        wanted = list(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
        new = len(wanted) - len(self.shape)
        extents = [None] * max(new, 0) + list(self.shape)
        return self.broadcast_to(
            tuple(own if n == -1 and own is not None else n for n, own in zip(wanted, extents))
        )

    def expand_as(self: Array, other: Any) -> Array:
        """Repeated to the shape of another tensor."""
        return self.broadcast_to(other.shape)

    def unbind(self: Array, dim: int = 0) -> tuple[Array, ...]:
        """The parts at each place of an axis."""
        (k,) = axes_of(dim, len(self.shape))
        return tuple(self[(slice(None),) * k + (n,)] for n in range(self.shape[k]))

    def narrow(self: Array, dim: int, start: int, length: int) -> Array:
        """`length` places of an axis from `start` on."""
        (k,) = axes_of(dim, len(self.shape))
        extent = self.shape[k]
        first = start + extent if start < 0 else start
        if length < 0 or not 0 <= first <= extent - length:
            raise CallError(f"{length} places from {start} on of an axis of {extent}", code="index")
        return self[(slice(None),) * k + (slice(first, first + length),)]

    def split(self: Array, size: int | list[int] | tuple[int, ...], dim: int = 0) -> tuple[Array, ...]:
        """Parts of `size` places, the last one of what is left; or of the sizes that are listed."""
        (k,) = axes_of(dim, len(self.shape))
        extent = self.shape[k]
        if not isinstance(size, list | tuple):
            size = _whole(size, "the size of a part")
            if size < 1:
                raise CallError(f"parts of {size} places", code="arguments", help="one place or more")
            sizes = [min(size, extent - at) for at in range(0, extent, size)] or [0]
        else:
            sizes = list(size)
        if sum(sizes) != extent:
            raise CallError(f"parts of {sizes} places of an axis of {extent}", code="shape")
        return tuple(self.narrow(k, sum(sizes[:n]), part) for n, part in enumerate(sizes))

    def chunk(self: Array, chunks: int, dim: int = 0) -> tuple[Array, ...]:
        """At most so many parts, all but the last one of equal size."""
        if _whole(chunks, "the number of parts") < 1:
            raise CallError(f"{chunks} parts", code="arguments", help="one part or more")
        return self.split(max(-(-self.shape[axes_of(dim, len(self.shape))[0]] // chunks), 1), dim)

    def contiguous(self) -> Self:
        """This tensor: elements always lie in the order C of memory."""
        return self

    def clone(self: Array) -> Array:
        """The same values as a tensor of its own, through which gradients flow."""
        return array_functions.itself(self)

    # Values

    def clamp(self: Array, min: object = None, max: object = None) -> Array:  # noqa: A002
        """Not below `min`, not above `max`."""
        return self.clip(min, max)

    def add(self: Array, other: object, *, alpha: Any = 1) -> Array:
        """x + alpha other."""
        return self + (other if alpha == 1 else other * alpha)

    def sub(self: Array, other: object, *, alpha: Any = 1) -> Array:
        """x - alpha other."""
        return self - (other if alpha == 1 else other * alpha)

    @recorded
    def addcmul(self: Array, first: Any, second: Any, *, value: Any = 1) -> Array:
        """x + value first second."""
        return self.add(first * second, alpha=value)

    @recorded
    def addcdiv(self: Array, first: Any, second: Any, *, value: Any = 1) -> Array:
        """x + value first / second."""
        return self.add(first / second, alpha=value)

    def mul(self: Array, other: object) -> Array:
        """x times other."""
        return self * other

    def div(self: Array, other: object) -> Array:
        """x over other."""
        return self / other

    def pow(self: Array, exponent: object) -> Array:
        """x to a power."""
        return self**exponent

    def neg(self: Array) -> Array:
        """-x."""
        return -self

    def remainder(self: Array, other: object) -> Array:
        """x modulo other, with the sign of other."""
        return self % other

    @recorded
    def fmod(self: Array, other: object) -> Array:
        """x modulo other, with the sign of x."""
        return binary.apply_binary("fmod", self, other)

    @recorded
    def atan2(self: Array, other: object) -> Array:
        """The angle, in radians, of the point at height x beside the origin by other."""
        return binary.apply_binary("arctan2", self, other)

    @recorded
    def hypot(self: Array, other: object) -> Array:
        """sqrt(x^2 + other^2)."""
        return binary.apply_binary("hypot", self, other)

    @recorded
    def logaddexp(self: Array, other: object) -> Array:
        """log(exp(x) + exp(other)), without overflow."""
        return binary.apply_binary("logaddexp", self, other)

    def eq(self: Array, other: object) -> Array:
        """True where elements are equal."""
        return binary.compare("equal", self, other)

    def ne(self: Array, other: object) -> Array:
        """True where elements differ."""
        return binary.compare("not_equal", self, other)

    def lt(self: Array, other: object) -> Array:
        """True where x is less."""
        return self < other

    def le(self: Array, other: object) -> Array:
        """True where x is less or equal."""
        return self <= other

    def gt(self: Array, other: object) -> Array:
        """True where x is greater."""
        return self > other

    def ge(self: Array, other: object) -> Array:
        """True where x is greater or equal."""
        return self >= other

    def matmul(self: Array, other: object) -> Array:
        """x @ other, leading axes broadcast."""
        return self @ other

    mm = bmm = mv = matmul

    def dot(self: Array, other: Any) -> Array:
        """The sum of products of two vectors; of a matrix and a vector or a matrix, their product."""
        if len(self.shape) not in (1, 2) or np.ndim(other) not in (1, 2):
            raise CallError("dot of tensors that are no vectors and no matrices", code="shape", help="x @ y")
        return self @ other

    @recorded
    def outer(self: Array, other: Any) -> Array:
        """Products of all pairs of elements of two vectors."""
        return self.reshape(-1, 1) * array_functions.operand(other).reshape(1, -1)

    @recorded
    def reciprocal(self: Array) -> Array:
        """1 over x."""
        return 1 / self  # type: ignore[return-value]

    @recorded
    def sign(self: Array) -> Array:
        """-1, 0 or 1."""
        return ops.sign(self)

    @recorded
    def trunc(self: Array) -> Array:
        """Without the fraction."""
        return ops.trunc(self) if self.dtype.is_float else array_functions.itself(self)

    @recorded
    def lerp(self: Array, end: Any, weight: Any) -> Array:
        """x + weight (end - x)."""
        return self + weight * (end - self)

    @recorded
    def nan_to_num(self: Array, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
        """Numbers in place of NaN and infinities: 0, and the largest and least of the dtype."""
        if not self.dtype.is_float:
            return array_functions.itself(self)
        most = largest(self.dtype)
        top, least = most if posinf is None else posinf, -most if neginf is None else neginf
        finite = array_functions.where(self.isnan(), nan, self)
        above = array_functions.where(finite == float("inf"), top, finite)
        return array_functions.where(above == float("-inf"), least, above)

    @recorded
    def isclose(self: Array, other: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Array:
        """True where |x - other| <= atol + rtol |other|, or both are the same infinity."""
        y = array_functions.operand(other)
        near = (abs(self - y) <= atol + rtol * abs(y)) & (self.isfinite() & _finite(y))
        same = near | (self == y)
        return same | (self.isnan() & (y != y)) if equal_nan else same

    def allclose(
        self: Array, other: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False
    ) -> Array:
        """True if `isclose` holds for all elements: computed now."""
        return self.isclose(other, rtol, atol, equal_nan).all().item()

    def equal(self: Array, other: Any) -> Array:
        """True if shape and elements are equal: computed now."""
        y = array_functions.operand(other)
        return tuple(y.shape) == self.shape and (self == y).all().item()

    # Reductions

    @recorded
    def amax(self, axis: Axis = None, keepdims: Any = False) -> Self:
        """The largest over some axes, or all."""
        return array_functions.reduce("max", self, axis, keepdims)

    @recorded
    def amin(self, axis: Axis = None, keepdims: Any = False) -> Self:
        """The smallest over some axes, or all."""
        return array_functions.reduce("min", self, axis, keepdims)

    @recorded
    def norm(self: Array, p: Any = 2, axis: Axis = None, keepdims: Any = False) -> Array:
        """The p-norm over some axes, or all: (sum |x|^p)^(1/p). Its gradient is 0 where it is 0."""
        x = self if self.dtype.is_float else self.astype("f32")
        if p in (float("inf"), "inf"):
            return abs(x).max(axis, keepdims)
        if p == 1:
            return abs(x).sum(axis, keepdims)
        if p == 0:
            return (x != 0).sum(axis, keepdims).astype(x.dtype)
        if not isinstance(p, int | float) or p < 0:
            raise CallError(f"the norm with p = {p!r}", code="arguments", help="p is 0, 1, 2, ..., or inf")
        total = (x * x if p == 2 else abs(x) ** p).sum(axis, keepdims)
        positive = total > 0
        root = array_functions.where(positive, total, 1)
        root = root.sqrt() if p == 2 else root ** (1 / p)
        return array_functions.where(
            positive | total.isnan(), array_functions.where(total.isnan(), total, root), 0
        )

    @recorded
    def logsumexp(self: Array, axis: Axis = None, keepdims: Any = False) -> Array:
        """The logarithm of the sum of exponentials over some axes, or all; never overflows."""
        axes = axes_of(axis, len(self.shape))
        found = self if self.dtype.is_float else self.astype("f32")
        for k in reversed(axes):
            found = ops.logsumexp(found, axis=k)
        return found.expand_dims(tuple(axes)) if keepdims and axes else found

    @recorded
    def count_nonzero(self: Array, axis: Axis = None, keepdims: Any = False) -> Array:
        """Count the elements that are not 0, over some axes, or all: i64."""
        return (self != 0).sum(axis, keepdims)

    @recorded
    def nansum(self: Array, axis: Axis = None, keepdims: Any = False) -> Array:
        """The sum over some axes, or all, in which NaN counts as 0."""
        return array_functions.where(self != self, 0, self).sum(axis, keepdims)

    @recorded
    def nanmean(self: Array, axis: Axis = None, keepdims: Any = False) -> Array:
        """The mean over some axes, or all, of the elements that are not NaN."""
        return statistics.nanmean(self, axis, keepdims=keepdims)

    # Places

    @recorded
    def take(self: Array, indices: Any, axis: Any = None) -> Array:
        """The parts at places of an axis, or the elements at places in a line."""
        return rearranging.take(self, _places(indices), axis)

    @recorded
    def diagonal(self: Array, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Array:
        """The diagonals of two axes, as the last axis; none beside the matrix.

        Raises:
            CallError: an axis that is not there or the same twice; an offset that is no integer.
        """
        axes_of((dim1, dim2), len(self.shape))
        return rearranging.diagonal(self, _whole(offset, "the offset of a diagonal"), dim1, dim2)

    @recorded
    def diag(self: Array, diagonal: Any = 0) -> Array:
        """The diagonal of a matrix, or the matrix with a diagonal.

        Raises:
            CallError: neither a vector nor a matrix; a diagonal that is no integer.
        """
        _has_axes(self, (1, 2), "diag")
        return rearranging.diag(self, _whole(diagonal, "the diagonal"))

    @recorded
    def trace(self: Array) -> Array:
        """The sum of the diagonal of a matrix.

        Raises:
            CallError: no matrix.
        """
        _has_axes(self, (2,), "trace")
        return rearranging.trace(self)

    @recorded
    def tile(self: Array, *dims: Any) -> Array:
        """Repeated so often along each axis, as `np.tile` does.

        Raises:
            CallError: a number of times that is no integer, or below 0.
        """
        return rearranging.tile(self, _times(dims))

    @recorded
    def repeat(self: Array, *sizes: Any) -> Array:
        """Repeated so often along each axis, new ones in front, as torch does.

        Raises:
            CallError: one number, or fewer than there are axes: NumPy repeats each element then; one that
                is no integer, or below 0.
        """
        times = _times(sizes)
        if len(times) < max(len(self.shape), 2 if self.shape else 0):
            n = times[0] if times else 2
            raise CallError(
                f"repeat of {len(self.shape)} axes by {len(times)} numbers: torch repeats the tensor, NumPy "
                "each element",
                code="arguments",
                help=f"x.tile({n}), or x.repeat_interleave({n})",
            )
        return rearranging.tile(self, times)

    @recorded
    def repeat_interleave(self: Array, repeats: Any, axis: Any = None) -> Array:
        """Each element several times along an axis, or all in a line: NumPy's `repeat`."""
        return rearranging.repeat(self, repeats, axis)

    @recorded
    def diff(self: Array, n: Any = 1, axis: Any = -1) -> Array:
        """Differences of neighbours along an axis, n times.

        Raises:
            CallError: n is no integer, or below 0; booleans.
        """
        if _whole(n, "n of diff") < 0 or self.dtype == BOOL:
            raise CallError(
                f"diff with n = {n} of {self.dtype}", code="arguments", help="n >= 0, of numbers: x.long()"
            )
        return statistics.diff(self, n, axis)

    @recorded
    def where(self: Array, condition: object, other: object) -> Array:
        """x where the condition holds, `other` elsewhere."""
        return array_functions.where(condition, self, other)

    @recorded
    def masked_fill(self: Array, mask: object, value: object) -> Array:
        """`value` where the mask holds, x elsewhere."""
        return array_functions.where(mask, value, self).astype(self.dtype)

    @recorded
    def gather(self: Array, dim: Any, index: Any) -> Array:
        """x at places along an axis: `y[i][j] = x[index[i][j]][j]` for axis 0."""
        return ops.gather(self, _places(index), axis=axes_of(dim, len(self.shape))[0])  # type: ignore[return-value]

    @recorded
    def index_select(self: Array, dim: Any, index: Any) -> Array:
        """The parts at places of an axis."""
        return ops.index_select(self, _places(index), axis=axes_of(dim, len(self.shape))[0])  # type: ignore[return-value]

    def select(self: Array, dim: Any, index: Any) -> Array:
        """The part at one place of an axis, without it.

        Raises:
            CallError: no axis of that number, or no place.
        """
        (place,) = axes_of(dim, len(self.shape))
        return self[(slice(None),) * place + (_whole(index, "the place of a part"),)]

    def unflatten(self: Array, dim: Any, sizes: Any) -> Array:
        """The same elements with several axes in the place of one; one of `sizes` may be -1.

        Raises:
            CallError: no axis of that number, or other sizes than the axis has.
        """
        (place,) = axes_of(dim, len(self.shape))
        known = [_whole(n, "a size") for n in sizes]
        if known.count(-1) == 1 and (rest := -prod(known)) > 0:
            known[known.index(-1)] = self.shape[place] // rest
        if prod(known) != self.shape[place] or min(known, default=1) < 0:
            raise CallError(
                f"unflatten: axis {place} has {self.shape[place]} elements, and the sizes are {list(sizes)}",
                code="shape",
            )
        return self.reshape((*self.shape[:place], *known, *self.shape[place + 1 :]))

    @recorded
    def unfold(self: Array, dimension: Any, size: Any, step: Any) -> Array:
        """Windows along an axis, of `size` elements, `step` apart, as the last axis.

        Raises:
            CallError: no axis of that number; a size or step below 1, or more than the axis has.
        """
        (place,) = axes_of(dimension, len(self.shape))
        size, step = _whole(size, "the size of windows"), _whole(step, "the step of windows")
        if not 1 <= size <= self.shape[place] or step < 1:
            raise CallError(
                f"unfold: windows of {size}, {step} apart, of an axis of {self.shape[place]} elements",
                code="arguments",
                help="1 <= size <= the axis, and 1 <= step",
            )
        windows: Op = operator_texts.windows(self.shape, place, size, step, self.dtype)
        return windows(self)  # type: ignore[return-value]

    @recorded
    def scatter(self: Array, dim: Any, index: Any, src: Any) -> Array:
        """x with elements replaced at places along an axis; the last of several at one place counts."""
        return ops.scatter(self, _places(index), src, axis=axes_of(dim, len(self.shape))[0])  # type: ignore[return-value]

    @recorded
    def scatter_add(self: Array, dim: Any, index: Any, src: Any) -> Array:
        """x with elements added at places along an axis."""
        return ops.scatter_add(self, _places(index), src, axis=axes_of(dim, len(self.shape))[0])  # type: ignore[return-value]

    @recorded
    def flip(self: Array, *dims: Any) -> Array:
        """Axes in the opposite order."""
        return rearranging.flip(self, dims[0] if len(dims) == 1 else dims)

    @recorded
    def roll(self: Array, shifts: Any, dims: Any = None) -> Array:
        """Elements moved along axes, those that leave coming back at the other end."""
        if dims is None:
            return self.reshape(-1).roll(shifts, 0).reshape(self.shape)
        by, axes = (tuple(v) if isinstance(v, tuple | list) else (v,) for v in (shifts, dims))
        by = tuple(_whole(n, "the shift of roll") for n in by)
        if len(by) != len(axes):
            raise CallError(
                f"roll of {len(axes)} axes by {len(by)} numbers",
                code="arguments",
                help="give a number for each axis",
            )
        return rearranging.roll(self, by, axes)

    @recorded
    def tril(self: Array, diagonal: Any = 0) -> Array:
        """Matrices with 0 above a diagonal.

        Raises:
            CallError: fewer than two axes; a diagonal that is no integer.
        """
        return _side(self, "tril", diagonal)

    @recorded
    def triu(self: Array, diagonal: Any = 0) -> Array:
        """Matrices with 0 below a diagonal.

        Raises:
            CallError: fewer than two axes; a diagonal that is no integer.
        """
        return _side(self, "triu", diagonal)


def _side(x: Any, name: str, diagonal: Any) -> Any:
    if len(x.shape) < 2:
        raise CallError(f"{name} of {len(x.shape)} axes", code="axis", help="give it a matrix, or several")
    return rearranging.on_side(x, _whole(diagonal, "the diagonal"), upper=name == "triu")


def _times(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Numbers of times that each axis is repeated: given one by one, or as one tuple."""
    listed = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    times = tuple(_whole(n, "how often an axis is repeated") for n in listed)
    if min(times, default=0) < 0:
        raise CallError(f"an axis is repeated {min(times)} times", code="arguments", help="0 times or more")
    return times


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise CallError(f"{what} is {value!r}, expected an integer", code="arguments")
    return value.__index__()


def _has_axes(x: Any, counts: tuple[int, ...], name: str) -> None:
    if len(x.shape) not in counts:
        raise CallError(
            f"{name} of {len(x.shape)} axes",
            code="axis",
            help="x.diagonal(0, -2, -1) gives the diagonals of several matrices",
        )


def _places(index: Any) -> Any:
    found = array_functions.operand(np.asarray(index) if array_functions.is_number(index) else index)
    if array_functions.dtype_of(found) == BOOL or array_functions.dtype_of(found).is_float:
        raise CallError(
            f"places of {array_functions.dtype_of(found)}", code="index", help="places are integers"
        )
    return array_functions.cast_any(found, I64)


def _finite(x: Any) -> Any:
    return x.isfinite() if hasattr(x, "isfinite") else abs(x) < float("inf")
