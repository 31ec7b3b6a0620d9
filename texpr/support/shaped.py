"""Sizes that follow from a shape and a dtype, for all that stands for an array."""

from __future__ import annotations

from math import prod
from typing import Any


class Shaped:
    """Base of classes with a shape."""

    __slots__ = ()
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class ShapedMemory(Shaped):
    """Base of classes with a shape and a dtype of NumPy, whose elements lie one behind the other."""

    __slots__ = ()
    dtype: Any

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize
