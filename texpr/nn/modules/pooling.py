"""Pooling: one number for every window, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number, sizes, whole
from texpr.nn.core.layer_operations import with_batch
from texpr.nn.core.module import Module
from texpr.nn.modules.convolution import Sizes, by_axis
from texpr.nn.modules.pooling_indices import adaptive_places, window_places
from texpr.support.errors import CallError


class _Pool(Module):
    """Base of pooling: windows, whose stride is the window unless given.

    `ceil_mode` lets a last window begin inside that does not fit.
    """

    rank = 1
    operator = ""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = sizes(name, "kernel_size", kernel_size, self.rank)
        self.stride = self.kernel_size if stride is None else sizes(name, "stride", stride, self.rank)
        self.padding, self.dilation = (
            sizes(name, "padding", padding, self.rank, 0),
            sizes(name, "dilation", dilation, self.rank),
        )
        self.ceil_mode = bool(ceil_mode)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size)):
            shown = (
                (self.padding[0], self.kernel_size[0]) if self.rank == 1 else (self.padding, self.kernel_size)
            )
            raise CallError(
                f"{name}: padding {shown[0]} is more than half of the window {shown[1]}", code="arguments"
            )

    def forward(self, input: Any) -> Any:
        return with_batch(self, input, self.rank + 2, self._pooled)

    def _pooled(self, x: Any) -> Any:
        operator = getattr(ops, f"{self.operator}{self.rank}d")
        constants = {
            **dict(zip("ORQ"[-self.rank :], self.kernel_size)),
            **by_axis("S", self.stride),
            **self._edges(x.shape[2:]),
        }
        return operator(x, **constants, **self.constants())

    def _edges(self, shape: Sequence[int]) -> dict[str, int]:
        """Padding, and what has to be added behind so that the windows that begin inside fit."""
        more = [
            _missing(*axis) for axis in zip(shape, self.kernel_size, self.stride, self.padding, self.dilation)
        ]
        extra = by_axis("E", more) if self.ceil_mode and any(more) else {}
        return {**by_axis("P", self.padding), **extra}

    def constants(self) -> dict[str, Any]:
        """Of the operator, besides windows."""
        return {}

    def extra_repr(self) -> str:
        shown = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return shown + (", ceil_mode=True" if self.ceil_mode else "")


def _missing(n: int, k: int, s: int, p: int, d: int) -> int:
    """Number of elements missing from the last window that begins in the axis or before it."""
    span = d * (k - 1) + 1
    last = -(-(n + 2 * p - span) // s)
    last -= last * s >= n + p
    return max(0, last * s + span - (n + 2 * p))


class MaxPool1d(_Pool):
    """Maximum of every window of sequences. Elements added at the edges are never the largest.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down, or up with `ceil_mode`.

    Args:
        kernel_size, stride, padding, dilation: one number for all directions, or one for each. The
            stride is the window unless given.
        return_indices: give also the place of each maximum in the plane of the last axes, row by
            row, which MaxUnpool takes.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length); with `return_indices` a pair, whose second part is
            i64
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.MaxPool1d(2)(tx.zeros(1, 3, 8)).shape
        (1, 3, 4)
    """

    operator = "maxpool"

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, padding, dilation, ceil_mode)
        self.return_indices = bool(return_indices)

    def forward(self, input: Any) -> Any:
        pooled = super().forward(input)
        return (
            (pooled, with_batch(self, input, self.rank + 2, self._places)) if self.return_indices else pooled
        )

    def _places(self, x: Any) -> Any:
        edges = self._edges(x.shape[2:])
        more = [edges.get(f"E{axis}", 0) for axis in "UHW"[-self.rank :]]
        return window_places(x, self.kernel_size, self.stride, self.padding, self.dilation, more)

    def constants(self) -> dict[str, Any]:
        return by_axis("D", self.dilation)


class MaxPool2d(MaxPool1d):
    """Maximum of every window of images. Elements added at the edges are never the largest.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down, or up with `ceil_mode`.

    Args:
        kernel_size, stride, padding, dilation: one number for all directions, or one for each. The
            stride is the window unless given.
        return_indices: give also the place of each maximum in the plane of the last axes, row by
            row, which MaxUnpool takes.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width); with `return_indices` a pair, whose second
            part is i64
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.MaxPool2d(2)(tx.zeros(1, 3, 8, 8)).shape
        (1, 3, 4, 4)
    """

    rank = 2


class MaxPool3d(MaxPool1d):
    """Maximum of every window of volumes. Elements added at the edges are never the largest.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down, or up with `ceil_mode`.

    Args:
        kernel_size, stride, padding, dilation: one number for all directions, or one for each. The
            stride is the window unless given.
        return_indices: give also the place of each maximum in the plane of the last axes, row by
            row, which MaxUnpool takes.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width); with `return_indices` a pair,
            whose second part is i64
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.MaxPool3d(2)(tx.zeros(1, 3, 8, 8, 8)).shape
        (1, 3, 4, 4, 4)
    """

    rank = 3


class AvgPool1d(_Pool):
    """Mean of every window of sequences.

    An axis of extent n becomes `(n + 2 padding - kernel_size) / stride + 1`, rounded down, or up
    with `ceil_mode`.

    Args:
        kernel_size, stride, padding: one number for all directions, or one for each. The stride is
            the window unless given.
        ceil_mode: let a last window begin inside that does not fit.
        count_include_pad: zeros at the edges count in the mean.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length)
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.AvgPool1d(2)(tx.ones(1, 3, 8)).shape
        (1, 3, 4)
    """

    operator = "avgpool"

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode=ceil_mode)
        self.count_include_pad, self.divisor_override = bool(count_include_pad), None

    divisor_override: int | None

    def constants(self) -> dict[str, Any]:
        return {"count_include_pad": self.count_include_pad, "divisor": self.divisor_override or 0}


class AvgPool2d(AvgPool1d):
    """Mean of every window of images.

    An axis of extent n becomes `(n + 2 padding - kernel_size) / stride + 1`, rounded down, or up
    with `ceil_mode`.

    Args:
        kernel_size, stride, padding: one number for all directions, or one for each. The stride is
            the window unless given.
        ceil_mode: let a last window begin inside that does not fit.
        count_include_pad: zeros at the edges count in the mean.
        divisor_override: divide sums by this number.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width)
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.AvgPool2d(2)(tx.ones(1, 3, 8, 8)).shape
        (1, 3, 4, 4)
    """

    rank = 2

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        if divisor_override is not None:
            self.divisor_override = whole(type(self).__name__, "divisor_override", divisor_override)


class AvgPool3d(AvgPool2d):
    """Mean of every window of volumes.

    An axis of extent n becomes `(n + 2 padding - kernel_size) / stride + 1`, rounded down, or up
    with `ceil_mode`.

    Args:
        kernel_size, stride, padding: one number for all directions, or one for each. The stride is
            the window unless given.
        ceil_mode: let a last window begin inside that does not fit.
        count_include_pad: zeros at the edges count in the mean.
        divisor_override: divide sums by this number.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width)
    Raises:
        CallError: a size is no integer, the padding is above half of the window, or the input has
            another number of axes.
    Example:
        >>> nn.AvgPool3d(2)(tx.ones(1, 3, 8, 8, 8)).shape
        (1, 3, 4, 4, 4)
    """

    rank = 3


class LPPool1d(_Pool):
    """Norm of every window of sequences: `(sum of |x|^p)^(1/p)`, where p is `norm_type`.

    torch takes `x^p`, which is the same for even p and for x of at least 0. Gulcehre et al.,
    Learned-Norm Pooling, 2013.

    Args:
        norm_type: the order p of the norm.
        kernel_size, stride: one number for all directions, or one for each. The stride is the
            window unless given.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length)
    Raises:
        CallError: a size is no integer of at least 1, `norm_type` is no finite number, or the input
            has another number of axes.
    Example:
        >>> nn.LPPool1d(2, 2)(tx.ones(1, 3, 8)).shape
        (1, 3, 4)
    """

    operator = "lppool"

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__(kernel_size, stride, ceil_mode=ceil_mode)
        self.norm_type = number(type(self).__name__, "norm_type", norm_type)

    def _edges(self, shape: Sequence[int]) -> dict[str, int]:
        return {name: value for name, value in super()._edges(shape).items() if name[0] == "E"}

    def constants(self) -> dict[str, Any]:
        return {"p": self.norm_type}

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type:g}, {super().extra_repr()}"


class LPPool2d(LPPool1d):
    """Norm of every window of images: `(sum of |x|^p)^(1/p)`, where p is `norm_type`.

    torch takes `x^p`, which is the same for even p and for x of at least 0. Gulcehre et al.,
    Learned-Norm Pooling, 2013.

    Args:
        norm_type: the order p of the norm.
        kernel_size, stride: one number for all directions, or one for each. The stride is the
            window unless given.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width)
    Raises:
        CallError: a size is no integer of at least 1, `norm_type` is no finite number, or the input
            has another number of axes.
    Example:
        >>> nn.LPPool2d(2, 2)(tx.ones(1, 3, 8, 8)).shape
        (1, 3, 4, 4)
    """

    rank = 2


class LPPool3d(LPPool1d):
    """Norm of every window of volumes: `(sum of |x|^p)^(1/p)`, where p is `norm_type`.

    torch takes `x^p`, which is the same for even p and for x of at least 0. Gulcehre et al.,
    Learned-Norm Pooling, 2013.

    Args:
        norm_type: the order p of the norm.
        kernel_size, stride: one number for all directions, or one for each. The stride is the
            window unless given.
        ceil_mode: let a last window begin inside that does not fit.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width)
    Raises:
        CallError: a size is no integer of at least 1, `norm_type` is no finite number, or the input
            has another number of axes.
    Example:
        >>> nn.LPPool3d(2, 2)(tx.ones(1, 3, 8, 8, 8)).shape
        (1, 3, 4, 4, 4)
    """

    rank = 3


class _AdaptivePool(Module):
    """Base of pooling to a number of results: window k of m covers elements floor(k n / m) to
    ceil((k + 1) n / m).
    """

    rank = 1
    operator = ""

    def __init__(self, output_size: int | None | Sequence[int | None]) -> None:
        super().__init__()
        given = output_size if isinstance(output_size, tuple | list) else (output_size,) * self.rank
        kept = sizes(type(self).__name__, "output_size", [1 if n is None else n for n in given], self.rank)
        self.output_size = tuple(None if n is None else k for n, k in zip(given, kept))

    def forward(self, input: Any) -> Any:
        def pooled(x: Any) -> Any:
            return getattr(ops, f"{self.operator}{self.rank}d")(
                x, **dict(zip("ZUV"[-self.rank :], self._wanted(x)))
            )

        return with_batch(self, input, self.rank + 2, pooled)

    def _wanted(self, x: Any) -> list[int]:
        return [n if n is not None else m for n, m in zip(self.output_size, x.shape[2:])]

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """Mean of windows of sequences whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveAvgPool1d(2)(tx.ones(1, 3, 8)).shape
        (1, 3, 2)
    """

    operator = "adaptive_avgpool"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Mean of windows of images whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveAvgPool2d(2)(tx.ones(1, 3, 8, 8)).shape
        (1, 3, 2, 2)
    """

    rank = 2


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """Mean of windows of volumes whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveAvgPool3d(2)(tx.ones(1, 3, 8, 8, 8)).shape
        (1, 3, 2, 2, 2)
    """

    rank = 3


class AdaptiveMaxPool1d(_AdaptivePool):
    """Maximum of windows of sequences whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
        return_indices: give also the place of each maximum in the plane of the last axes.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveMaxPool1d(2)(tx.ones(1, 3, 8)).shape
        (1, 3, 2)
    """

    operator = "adaptive_maxpool"

    def __init__(self, output_size: int | None | Sequence[int | None], return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = bool(return_indices)

    def forward(self, input: Any) -> Any:
        pooled = super().forward(input)
        if not self.return_indices:
            return pooled
        return pooled, with_batch(self, input, self.rank + 2, lambda x: adaptive_places(x, self._wanted(x)))


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """Maximum of windows of images whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
        return_indices: give also the place of each maximum in the plane of the last axes.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveMaxPool2d(2)(tx.ones(1, 3, 8, 8)).shape
        (1, 3, 2, 2)
    """

    rank = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool1d):
    """Maximum of windows of volumes whose number is given: window k of n begins at
    `floor(k extent / n)` and ends before `ceil((k + 1) extent / n)`.

    Args:
        output_size: the extents of the result, one for all directions or one each; None keeps an
            extent.
        return_indices: give also the place of each maximum in the plane of the last axes.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.AdaptiveMaxPool3d(2)(tx.ones(1, 3, 8, 8, 8)).shape
        (1, 3, 2, 2, 2)
    """

    rank = 3
