"""Methods of tensors whose names end in `_`, as torch has them: `x.add_(1)` is `x[...] = x.add(1)`."""

from __future__ import annotations

from typing import Any, TypeVar

from texpr.support.suggest import know_arguments
from texpr.support.tracebacks import boundary

Array = TypeVar("Array", bound=Any)


@know_arguments
class InPlaceMethods:
    """Methods that give the tensor or parameter itself another value, of its shape and dtype. What was
    computed from it before keeps the old one. A leaf that requires a gradient takes one inside of
    `with tx.no_grad():` only.
    """

    __slots__ = ()

    @boundary
    def _set(self: Array, value: object) -> Array:
        self[...] = value
        return self

    def zero_(self: Array) -> Array:
        """x becomes 0."""
        return self._set(0)

    def fill_(self: Array, value: object) -> Array:
        """x becomes one number."""
        return self._set(value)

    def copy_(self: Array, source: object) -> Array:
        """x gets the values of another tensor or array, which broadcasts."""
        return self._set(source)

    def add_(self: Array, other: object, *, alpha: Any = 1) -> Array:
        """x becomes x + alpha other."""
        return self._set(self.add(other, alpha=alpha))

    def sub_(self: Array, other: object, *, alpha: Any = 1) -> Array:
        """x becomes x - alpha other."""
        return self._set(self.sub(other, alpha=alpha))

    def mul_(self: Array, other: object) -> Array:
        """x becomes x times other."""
        return self._set(self.mul(other))

    def div_(self: Array, other: object) -> Array:
        """x becomes x over other."""
        return self._set(self.div(other))

    def pow_(self: Array, exponent: object) -> Array:
        """x becomes a power of x."""
        return self._set(self.pow(exponent))

    def addcmul_(self: Array, first: Any, second: Any, *, value: Any = 1) -> Array:
        """x becomes x + value first second."""
        return self._set(self.addcmul(first, second, value=value))

    def addcdiv_(self: Array, first: Any, second: Any, *, value: Any = 1) -> Array:
        """x becomes x + value first / second."""
        return self._set(self.addcdiv(first, second, value=value))

    def lerp_(self: Array, end: Any, weight: Any) -> Array:
        """x becomes x + weight (end - x)."""
        return self._set(self.lerp(end, weight))

    def clamp_(self: Array, min: object = None, max: object = None) -> Array:  # noqa: A002
        """x becomes not below `min`, not above `max`."""
        return self._set(self.clamp(min, max))

    def masked_fill_(self: Array, mask: object, value: object) -> Array:
        """x becomes `value` where the mask holds."""
        return self._set(self.masked_fill(mask, value))

    def neg_(self: Array) -> Array:
        """x becomes -x."""
        return self._set(self.neg())

    def abs_(self: Array) -> Array:
        """x becomes its absolute values."""
        return self._set(self.abs())

    def exp_(self: Array) -> Array:
        """x becomes exp(x)."""
        return self._set(self.exp())

    def sqrt_(self: Array) -> Array:
        """x becomes the square root of x."""
        return self._set(self.sqrt())

    def relu_(self: Array) -> Array:
        """x becomes max(x, 0)."""
        return self._set(self.relu())

    def sigmoid_(self: Array) -> Array:
        """x becomes its sigmoid."""
        return self._set(self.sigmoid())

    def tanh_(self: Array) -> Array:
        """x becomes its hyperbolic tangent."""
        return self._set(self.tanh())
