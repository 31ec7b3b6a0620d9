"""The number of elements, which is an attribute in NumPy and a method in torch."""

from __future__ import annotations

from typing import overload


class Size(int):
    """NumPy's `x.size`, an integer. Called, it is torch's `x.size()`: the shape, or an extent."""

    shape: tuple[int, ...]

    def __new__(cls, count: int, shape: tuple[int, ...]) -> Size:
        """Keep the shape beside the number."""
        found = super().__new__(cls, count)
        found.shape = shape
        return found

    @overload
    def __call__(self) -> tuple[int, ...]: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> tuple[int, ...] | int:
        return self.shape if dim is None else self.shape[dim]

    def __reduce__(self) -> tuple:
        return int, (int(self),)
