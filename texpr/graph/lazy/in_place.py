"""Assignment and in-place operators of tensors: the tensor gets another value, and what was made from
it before stays as it is.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from texpr.graph.arrays import array_functions
from texpr.graph.arrays.methods import ArrayMethods
from texpr.graph.arrays.recording import is_recording
from texpr.graph.arrays.setitem import known_places, needs_places, with_elements
from texpr.graph.lazy.recipes import observation
from texpr.ir.dtypes import BOOL, DType, int_range
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


def _fits(value: Any, t: DType) -> bool:
    lo, hi = int_range(t)
    return lo <= value <= hi


def _is_place(item: Any, extent: int) -> bool:
    """True of a number in bounds, and of a slice between numbers."""
    if type(item) is slice:
        return (
            all([n is None or type(n) is int for n in (item.start, item.stop, item.step)]) and item.step != 0
        )
    return type(item) is int and -extent <= item < extent


class InPlaceOperators(ArrayMethods):
    """`x[...] = v` and `x += y`."""

    __slots__ = ()
    if TYPE_CHECKING:
        dtype: Any
        value: Any
        node: Any
        index: int
        requires_grad: bool

        @property
        def is_leaf(self) -> bool: ...

        def realize(self) -> Self: ...

        def detach(self) -> Self: ...

        def detach_users(self) -> None: ...

    @boundary
    def __setitem__(self, key: object, value: object) -> None:
        """Give the tensor a value with these elements replaced.

        Places may be numbers, slices, masks and arrays of integers; where several places are one, the
        last value counts.

        Raises:
            CallError: the tensor is a leaf that requires a gradient, and gradients are recorded; shapes
                that do not fit.
        """
        if self.requires_grad and self.node is None:
            if is_recording():
                raise CallError(
                    "elements of a tensor that requires a gradient are assigned",
                    code="gradient",
                    help="compute a new tensor, where(condition, values, x), or assign inside "
                    "`with tx.no_grad():`",
                )
            new = self.detach()
            new[key] = value
            self._as_update(new)
            return
        if self._write(key, value) or key is ... and self._take_over(value):
            return
        if needs_places(key):
            key = known_places(key)
        from texpr.graph.lazy.making import tensor

        new = with_elements(
            self, key, array_functions.operand(value), lambda array: tensor(np.asarray(array))
        )
        self.detach_users()
        self.value, self.node, self.index, self.requires_grad = None, new.node, new.index, new.requires_grad
        assert self.node is not None
        self.node.outputs = (weakref.ref(self),)

    def _write(self, key: object, value: object) -> bool:
        """Put values that are known at places of a known value, in a copy: a kernel for each place would
        be compiled. False for any other key or value.
        """
        items: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        before = self.value
        if type(before) is not np.ndarray or self.requires_grad or observation.get() is not None:
            return False
        if len(items) > before.ndim or not all(map(_is_place, items, before.shape)):
            return False
        known = self._known(value)
        if known is None:
            return False
        found: Any = before.copy()
        try:
            found[items] = known
        except ValueError:  # shapes that do not fit
            return False
        self.detach_users()
        self.value, self.node, self.index = found, None, 0
        return True

    def _take_over(self, value: Any) -> bool:
        """Have the value of a tensor of this shape and dtype; False of any other value."""
        if not isinstance(value, type(self)) or (value.shape, value.dtype) != (self.shape, self.dtype):
            return False
        new: Any = value.own()  # type: ignore[attr-defined]
        self.detach_users()
        self.value, self.node, self.index, self.requires_grad = (
            new.value,
            new.node,
            new.index,
            new.requires_grad,
        )
        self.stops, self.spec = new.stops, None
        if self.value is None:
            self.node.outputs += (weakref.ref(self),)
        return True

    def _known(self, value: Any) -> Any:
        """A number that the dtype holds, or the array of a tensor of this dtype through which no gradient
        flows, computed if it waits; None of others.
        """
        if isinstance(value, InPlaceOperators):
            if value.dtype != self.dtype or value.requires_grad:
                return None
            array = value.realize().value
            return array if type(array) is np.ndarray else None
        kinds = (bool,) if self.dtype == BOOL else (float, int) if self.dtype.is_float else (int,)
        fits = type(value) in kinds and not (self.dtype.is_int and not _fits(value, self.dtype))
        return value if fits and not self.dtype.as_bits else None

    @boundary
    def __iadd__(self, other: object) -> Self:
        return self._as_update(self + other)

    @boundary
    def __isub__(self, other: object) -> Self:
        return self._as_update(self - other)

    @boundary
    def __imul__(self, other: object) -> Self:
        return self._as_update(self * other)

    @boundary
    def __itruediv__(self, other: object) -> Self:
        return self._as_update(self / other)

    @boundary
    def __ifloordiv__(self, other: object) -> Self:
        return self._as_update(self // other)

    @boundary
    def __imod__(self, other: object) -> Self:
        return self._as_update(self % other)

    @boundary
    def __ipow__(self, other: object) -> Self:
        return self._as_update(self**other)

    @boundary
    def __imatmul__(self, other: object) -> Self:
        return self._as_update(self @ other)

    def _as_update(self, new: object) -> Self:
        """The new object behind the name `x` after `x -= y`: `new`, and where a leaf is changed
        outside of its gradient, `x` with that value.

        Raises:
            CallError: the leaf would become another shape.
        """
        if (
            not isinstance(new, InPlaceOperators)
            or not (self.requires_grad and self.is_leaf)
            or is_recording()
        ):
            return new  # type: ignore[return-value]
        if new.shape != self.shape:
            raise CallError(
                f"a leaf of shape {list(self.shape)} would become one of {list(new.shape)}", code="shape"
            )
        value = new.astype(self.dtype).realize().value
        self.detach_users()
        self.value = value
        return self
