"""Unpooling: elements back at the places they came from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from texpr import ops
from texpr.compiler import Op, op
from texpr.graph import Symbolic
from texpr.nn.core.argument_checks import sizes
from texpr.nn.core.layer_operations import without_batch
from texpr.nn.core.module import Module
from texpr.nn.modules.convolution import Sizes
from texpr.support.errors import CallError


class MaxUnpool1d(Module):
    """Inverse of MaxPool1d as far as there is one: zeros, but for the input's elements at the
    places that `indices` names.

    An axis of extent n becomes `(n - 1) stride - 2 padding + kernel_size` unless `output_size` is
    given. If places meet, the last element counts. Indices outside are refused in data, and left
    out where a program computes them.

    Shapes:
        input, indices: (batch, channels, length), or without the batch
        output: (batch, channels, out_length)
    Raises:
        CallError: shapes of input and indices differ, an index is out of range, or `output_size` is
            further than a stride from the usual one.
    Example:
        >>> pooled, places = nn.MaxPool1d(2, return_indices=True)(tx.ones(1, 3, 4))
        >>> nn.MaxUnpool1d(2)(pooled, places).shape
        (1, 3, 4)
    """

    rank = 1

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = sizes(name, "kernel_size", kernel_size, self.rank)
        self.stride = self.kernel_size if stride is None else sizes(name, "stride", stride, self.rank)
        self.padding = sizes(name, "padding", padding, self.rank, 0)

    def forward(self, input: Any, indices: Any, output_size: Sequence[int] | None = None) -> Any:
        if input.shape != indices.shape or input.ndim not in (self.rank + 1, self.rank + 2):
            raise CallError(
                f"{type(self).__name__}: the input is {list(input.shape)} and the indices "
                f"{list(indices.shape)}, expected the "
                f"same {self.rank + 2} dimensions, or {self.rank + 1} without a batch",
                code="shape",
            )
        if input.ndim == self.rank + 1:
            x, places = (ops.expand(each, axis=0, times=1) for each in (input, indices))
            return without_batch(self._placed(x, places, output_size))
        return self._placed(input, indices, output_size)

    def _placed(self, x: Any, places: Any, output_size: Sequence[int] | None) -> Any:
        size = self._size(x.shape[2:], output_size)
        flat = x.reshape((*x.shape[:2], prod(x.shape[2:])))
        checked = any(places.tensor is t for t in x.capture.inputs)
        return _unpooled(self.rank, checked)(flat, places, S=prod(size)).reshape((*x.shape[:2], *size))

    def _size(self, shape: Sequence[int], output_size: Sequence[int] | None) -> tuple[int, ...]:
        usual = tuple(
            (n - 1) * s - 2 * p + k for n, s, p, k in zip(shape, self.stride, self.padding, self.kernel_size)
        )
        if output_size is None:
            return usual
        if isinstance(output_size, Symbolic):
            raise CallError(
                f"{type(self).__name__}: output_size is an array, expected numbers",
                code="arguments",
                help="give it by name: output_size=...",
            )
        wanted = tuple(int(n) for n in output_size)[-self.rank :]
        if len(wanted) != self.rank or any(
            not u - s < n < u + s for n, u, s in zip(wanted, usual, self.stride)
        ):
            raise CallError(
                f"{type(self).__name__}: output_size is {tuple(output_size)}, expected within {self.stride} "
                f"of {usual}",
                code="arguments",
            )
        return wanted

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@lru_cache
def _unpooled(rank: int, checked: bool) -> Op:
    """Elements at places of a plane of S elements, 0 elsewhere. Places that are data are
    checked; computed ones outside are left out.
    """
    axes, sizes = [f"y{k}" for k in range(rank)], [f"N{k}" for k in range(rank)]
    at, position = ", ".join(axes), axes[0]
    for axis, size in zip(axes[1:], sizes[1:]):
        position = f"({position})*{size} + {axis}"
    inputs = f"X: T[N, C, {'*'.join(sizes)}], I: i64[N, C, {', '.join(sizes)}]{' in 0..S' * checked}"
    return op(f"""op unpooled<T: float>({inputs}; S) -> Y: T[N, C, S] {{
  let last: i64[N, C, S]
  last[n, c, s] = -1
  last[n, c, I[n, c, {at}]{" | drop" * (not checked)}] max= {position}
  Y[n, c, s] = if last[n, c, s] >= 0 then X[n, c, last[n, c, s] | 0] else 0
}}""")


class MaxUnpool2d(MaxUnpool1d):
    """Inverse of MaxPool2d as far as there is one: zeros, but for the input's elements at the
    places that `indices` names.

    An axis of extent n becomes `(n - 1) stride - 2 padding + kernel_size` unless `output_size` is
    given. If places meet, the last element counts. Indices outside are refused in data, and left
    out where a program computes them.

    Shapes:
        input, indices: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width)
    Raises:
        CallError: shapes of input and indices differ, an index is out of range, or `output_size` is
            further than a stride from the usual one.
    Example:
        >>> pooled, places = nn.MaxPool2d(2, return_indices=True)(tx.ones(1, 3, 4, 4))
        >>> nn.MaxUnpool2d(2)(pooled, places).shape
        (1, 3, 4, 4)
    """

    rank = 2


class MaxUnpool3d(MaxUnpool1d):
    """Inverse of MaxPool3d as far as there is one: zeros, but for the input's elements at the
    places that `indices` names.

    An axis of extent n becomes `(n - 1) stride - 2 padding + kernel_size` unless `output_size` is
    given. If places meet, the last element counts. Indices outside are refused in data, and left
    out where a program computes them.

    Shapes:
        input, indices: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width)
    Raises:
        CallError: shapes of input and indices differ, an index is out of range, or `output_size` is
            further than a stride from the usual one.
    Example:
        >>> pooled, places = nn.MaxPool3d(2, return_indices=True)(tx.ones(1, 3, 4, 4, 4))
        >>> nn.MaxUnpool3d(2)(pooled, places).shape
        (1, 3, 4, 4, 4)
    """

    rank = 3
