"""Pooling by windows that are spread at random."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.nn.core.argument_checks import number, sizes
from texpr.nn.core.layer_operations import with_batch, without_batch
from texpr.nn.core.parameter import Buffer
from texpr.nn.modules.convolution import Sizes
from texpr.nn.modules.dropout import Seeded
from texpr.support.errors import CallError

Ratios = float | Sequence[float]


class FractionalMaxPool2d(Seeded):
    """Maximum of windows of images that are spread at random over each image and channel.

    The windows are drawn anew in every call, in evaluation too; `_random_samples`, numbers of 0..1
    of shape (batch, channels, 2), fixes them. Graham, Fractional Max-Pooling, 2014.

    Args:
        kernel_size: the window.
        output_size: the number of windows; or
        output_ratio: the number of windows over that of elements, above 0 and below 1.
        return_indices: give also the place of each maximum in the image, row by row.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: both or neither of size and ratio are given, a ratio is not within 0..1, or the
            windows do not fit.
    Example:
        >>> nn.FractionalMaxPool2d(2, output_size=3)(tx.randn(1, 3, 8, 8)).shape
        (1, 3, 3, 3)
    """

    rank = 2
    _random_samples: Buffer | None

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratios | None = None,
        return_indices: bool = False,
        _random_samples: object = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise CallError(f"{name}: give either output_size or output_ratio", code="arguments")
        self.kernel_size, self.return_indices = (
            sizes(name, "kernel_size", kernel_size, self.rank),
            bool(return_indices),
        )
        self.output_size = None if output_size is None else sizes(name, "output_size", output_size, self.rank)
        self.output_ratio = None if output_ratio is None else self._ratios(output_ratio)
        self.register_buffer(
            "_random_samples",
            None if _random_samples is None else np.asarray(_random_samples),
            persistent=True,
        )

    def _ratios(self, given: Ratios) -> tuple[float, ...]:
        ratios: tuple[float, ...] = (given,) * self.rank if isinstance(given, int | float) else tuple(given)
        name = type(self).__name__
        if len(ratios) != self.rank:
            raise CallError(
                f"{name}: output_ratio is {given!r}, expected a number or {self.rank} of them",
                code="arguments",
            )
        if not all(number(name, "output_ratio", r, 0.0, 1.0) for r in ratios):
            raise CallError(
                f"{name}: output_ratio is {given!r}, expected numbers above 0 and below 1", code="arguments"
            )
        return ratios

    def forward(self, input: Any) -> Any:
        if input.ndim == self.rank + 1:
            y, places = map(without_batch, self._pooled(ops.expand(input, axis=0, times=1)))
        else:
            y, places = with_batch(self, input, self.rank + 2, self._pooled)
        return (y, places) if self.return_indices else y

    def _pooled(self, x: Any) -> tuple[Any, Any]:
        shape = x.shape[2:]
        wanted = self.output_size or tuple(int(n * r) for n, r in zip(shape, self.output_ratio or ()))
        if any(m < 1 or m + k - 1 > n for n, m, k in zip(shape, wanted, self.kernel_size)):
            raise CallError(
                f"{type(self).__name__}: {wanted} windows of {self.kernel_size} do not fit into {shape}",
                code="shape",
            )
        constants = {
            **dict(zip("SUV"[-self.rank :], wanted)),
            **dict(zip("ORQ"[-self.rank :], self.kernel_size)),
        }
        return getattr(ops, f"fractional_maxpool{self.rank}d")(x, self._samples(x), **constants)

    def _samples(self, x: Any) -> Symbolic:
        """Random numbers that place the windows of each image and channel."""
        if self._random_samples is not None:
            return x.capture.variable(self._random_samples).astype(x.dtype)[: x.shape[0]]
        shape = (*x.shape[:2], self.rank)
        return ops.random_uniform(self.next_seed(x.capture), N=prod(shape)).astype(x.dtype).reshape(shape)  # type: ignore[union-attr]

    def extra_repr(self) -> str:
        wanted = (
            f"output_ratio={self.output_ratio}"
            if self.output_size is None
            else f"output_size={self.output_size}"
        )
        return f"kernel_size={self.kernel_size}, {wanted}"


class FractionalMaxPool3d(FractionalMaxPool2d):
    """Maximum of windows of volumes that are spread at random over each volume and channel.

    The windows are drawn anew in every call, in evaluation too; `_random_samples`, numbers of 0..1
    of shape (batch, channels, 3), fixes them. Graham, Fractional Max-Pooling, 2014.

    Args:
        kernel_size: the window.
        output_size: the number of windows; or
        output_ratio: the number of windows over that of elements, above 0 and below 1.
        return_indices: give also the place of each maximum in the volume, row by row.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: both or neither of size and ratio are given, a ratio is not within 0..1, or the
            windows do not fit.
    Example:
        >>> nn.FractionalMaxPool3d(2, output_size=3)(tx.randn(1, 3, 8, 8, 8)).shape
        (1, 3, 3, 3, 3)
    """

    rank = 3
