"""Convolutions in one, two and three dimensions, and their adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import one_of, sizes, whole
from texpr.nn.core.layer_operations import parameter, present, with_batch
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.nn.modules.linear import fill
from texpr.nn.modules.padding import MODES, padded
from texpr.support.errors import CallError

Sizes = int | Sequence[int]
"""One number for all directions, or one each, depth first."""


def by_axis(letter: str, values: Sequence[int]) -> dict[str, int]:
    """Constants of operators on windows: strides (1, 2) of an image are SH=1 and SW=2."""
    return {letter + axis: value for axis, value in zip("UHW"[-len(values) :], values)}


class _Convolution(Module):
    """Base of convolutions and their adjoints: channels, windows, first values."""

    rank = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        dilation: Sizes,
        groups: int,
        padding_mode: str,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = (
            whole(name, "in_channels", in_channels),
            whole(name, "out_channels", out_channels),
        )
        self.kernel_size, self.stride = (
            sizes(name, "kernel_size", kernel_size, self.rank),
            sizes(name, "stride", stride, self.rank),
        )
        self.dilation, self.groups = (
            sizes(name, "dilation", dilation, self.rank),
            whole(name, "groups", groups),
        )
        self.padding_mode = one_of(name, "padding_mode", padding_mode, tuple(MODES))
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise CallError(
                f"{name}: {in_channels} input and {out_channels} output channels cannot be divided into "
                f"{groups} groups",
                code="arguments",
            )

    bias: Parameter | None
    weight: Parameter
    padding: tuple[int, ...] | str

    def _make_parameters(self, first: int, second: int, bias: bool, dtype: object) -> None:
        self.weight = parameter(self, "weight", (first, second // self.groups, *self.kernel_size), dtype)
        self.bias = parameter(self, "bias", (self.out_channels,), dtype) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values anew."""
        fill(self.weight, self.bias)

    def extra_repr(self) -> str:
        shown = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ]
        shown += [f"padding={self.padding!r}"] if self.padding != (0,) * self.rank else []
        shown += [f"dilation={self.dilation}"] if self.dilation != (1,) * self.rank else []
        shown += [f"groups={self.groups}"] if self.groups != 1 else []
        shown += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(shown + (["bias=False"] if self.bias is None else []))


class Conv1d(_Convolution):
    """Convolution (cross-correlation) of sequences: each result is the weight times a window,
    summed over channels and window, plus the bias.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down. First values are even within 1 / sqrt(fan in), as torch's are.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements at both ends of each axis; "valid" for none, "same" for as many results as
            elements, where the stride is 1.
        groups: groups of channels that see only each other.
        padding_mode: the value of the added elements: "zeros", "reflect", "replicate" or
            "circular".
    Shapes:
        weight: (out_channels, in_channels / groups, kernel_size)
        bias: (out_channels,)
        input: (batch, in_channels, length), or without the batch
        output: (batch, out_channels, out_length)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, the padding is
            "same" for a stride above 1, or the input has other channels or axes.
    Example:
        >>> nn.Conv1d(3, 6, 3, padding=1)(tx.zeros(2, 3, 8)).shape
        (2, 6, 8)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, dilation, groups, padding_mode)
        name = type(self).__name__
        if isinstance(padding, str):
            self.padding = one_of(name, "padding", padding, ("valid", "same"))
            if padding == "same" and self.stride != (1,) * self.rank:
                raise CallError(
                    f"{name}: padding is 'same' and the stride {self.stride}, expected 1", code="arguments"
                )
        else:
            self.padding = sizes(name, "padding", padding, self.rank, 0)
        self._make_parameters(self.out_channels, self.in_channels, bias, dtype)

    def _sides(self) -> list[tuple[int, int]]:
        """Elements before and after each axis; of an odd number, the larger half is behind."""
        if isinstance(self.padding, str):
            whole_ = [
                d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size)
            ]
            return [(n // 2, n - n // 2) for n in whole_]
        return [(p, p) for p in self.padding]

    def forward(self, input: Any) -> Any:
        return with_batch(self, input, self.rank + 2, self._convolved)

    def _convolved(self, x: Any) -> Any:
        sides = self._sides()
        zeros = tuple(before for before, _ in sides)
        if self.padding_mode != "zeros" or any(before != after for before, after in sides):
            x, zeros = padded(x, sides, self.padding_mode), (0,) * self.rank
        constants = {**by_axis("S", self.stride), **by_axis("P", zeros), **by_axis("D", self.dilation)}
        if self.rank == 2 and self.groups == 1:
            return ops.conv2d(x, self.weight, **present(bias=self.bias), **constants)
        operator = ops.conv2d_grouped if self.rank == 2 else getattr(ops, f"conv{self.rank}d")
        return operator(x, self.weight, **present(bias=self.bias), G=self.groups, **constants)


class Conv2d(Conv1d):
    """Convolution (cross-correlation) of images: each result is the weight times a window, summed
    over channels and window, plus the bias.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down. First values are even within 1 / sqrt(fan in), as torch's are.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements at both ends of each axis; "valid" for none, "same" for as many results as
            elements, where the stride is 1.
        groups: groups of channels that see only each other.
        padding_mode: the value of the added elements: "zeros", "reflect", "replicate" or
            "circular".
    Shapes:
        weight: (out_channels, in_channels / groups, kernel_height, kernel_width)
        bias: (out_channels,)
        input: (batch, in_channels, height, width), or without the batch
        output: (batch, out_channels, out_height, out_width)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, the padding is
            "same" for a stride above 1, or the input has other channels or axes.
    Example:
        >>> nn.Conv2d(3, 6, 3, padding=1)(tx.zeros(2, 3, 8, 8)).shape
        (2, 6, 8, 8)
    """

    rank = 2


class Conv3d(Conv1d):
    """Convolution (cross-correlation) of volumes: each result is the weight times a window, summed
    over channels and window, plus the bias.

    An axis of extent n becomes `(n + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1`,
    rounded down. First values are even within 1 / sqrt(fan in), as torch's are.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements at both ends of each axis; "valid" for none, "same" for as many results as
            elements, where the stride is 1.
        groups: groups of channels that see only each other.
        padding_mode: the value of the added elements: "zeros", "reflect", "replicate" or
            "circular".
    Shapes:
        weight: (out_channels, in_channels / groups, kernel_depth, kernel_height, kernel_width)
        bias: (out_channels,)
        input: (batch, in_channels, depth, height, width), or without the batch
        output: (batch, out_channels, out_depth, out_height, out_width)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, the padding is
            "same" for a stride above 1, or the input has other channels or axes.
    Example:
        >>> nn.Conv3d(3, 6, 3, padding=1)(tx.zeros(2, 3, 8, 8, 8)).shape
        (2, 6, 8, 8, 8)
    """

    rank = 3


class ConvTranspose1d(_Convolution):
    """Transposed convolution of sequences: the adjoint of Conv1d, which makes axes longer.

    An axis of extent n becomes
    `(n - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements taken away at both ends.
        output_padding: more elements at the end, fewer than the stride or the dilation.
        groups: groups of channels that see only each other.
        padding_mode: "zeros" alone.
    Shapes:
        weight: (in_channels, out_channels / groups, kernel_size)
        bias: (out_channels,)
        input: (batch, in_channels, length), or without the batch
        output: (batch, out_channels, out_length)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, `output_padding` is
            too large, another padding mode, or the input has other channels or axes.
    Example:
        >>> nn.ConvTranspose1d(6, 3, 2, stride=2)(tx.zeros(2, 6, 4)).shape
        (2, 3, 8)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        *,
        dtype: object = "f32",
    ) -> None:
        name = type(self).__name__
        if padding_mode != "zeros":
            raise CallError(f"{name}: padding_mode is {padding_mode!r}, expected zeros", code="arguments")
        super().__init__(in_channels, out_channels, kernel_size, stride, dilation, groups, padding_mode)
        self.padding = sizes(name, "padding", padding, self.rank, 0)
        self.output_padding = self._extra(sizes(name, "output_padding", output_padding, self.rank, 0))
        self._make_parameters(self.in_channels, self.out_channels, bias, dtype)

    padding: tuple[int, ...]

    def _extra(self, more: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= e < max(s, d) for e, s, d in zip(more, self.stride, self.dilation)):
            raise CallError(
                f"{type(self).__name__}: output_padding {more} is not below the stride {self.stride} or the "
                f"dilation "
                f"{self.dilation}",
                code="arguments",
            )
        return more

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Compute; output_size says how long the results' last axes are, where the stride leaves
        a choice.
        """
        return with_batch(self, input, self.rank + 2, lambda x: self._spread(x, output_size))

    def _spread(self, x: Any, output_size: Sequence[int] | None) -> Any:
        extra = self.output_padding
        if output_size is not None:
            windows = zip(x.shape[2:], self.stride, self.padding, self.dilation, self.kernel_size)
            least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in windows]
            extra = self._extra(tuple(int(n) - m for n, m in zip(list(output_size)[-self.rank :], least)))
        constants = {
            **by_axis("S", self.stride),
            **by_axis("P", self.padding),
            **by_axis("D", self.dilation),
            **by_axis("E", extra),
        }
        operator = getattr(ops, f"conv_transpose{self.rank}d")
        return operator(x, self.weight, **present(bias=self.bias), G=self.groups, **constants)


class ConvTranspose2d(ConvTranspose1d):
    """Transposed convolution of images: the adjoint of Conv2d, which makes axes longer.

    An axis of extent n becomes
    `(n - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements taken away at both ends.
        output_padding: more elements at the end, fewer than the stride or the dilation.
        groups: groups of channels that see only each other.
        padding_mode: "zeros" alone.
    Shapes:
        weight: (in_channels, out_channels / groups, kernel_height, kernel_width)
        bias: (out_channels,)
        input: (batch, in_channels, height, width), or without the batch
        output: (batch, out_channels, out_height, out_width)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, `output_padding` is
            too large, another padding mode, or the input has other channels or axes.
    Example:
        >>> nn.ConvTranspose2d(6, 3, 2, stride=2)(tx.zeros(2, 6, 4, 4)).shape
        (2, 3, 8, 8)
    """

    rank = 2


class ConvTranspose3d(ConvTranspose1d):
    """Transposed convolution of volumes: the adjoint of Conv3d, which makes axes longer.

    An axis of extent n becomes
    `(n - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`.

    Args:
        in_channels, out_channels: numbers of channels, axis 1.
        kernel_size, stride, dilation: one number for all directions, or one for each.
        padding: elements taken away at both ends.
        output_padding: more elements at the end, fewer than the stride or the dilation.
        groups: groups of channels that see only each other.
        padding_mode: "zeros" alone.
    Shapes:
        weight: (in_channels, out_channels / groups, kernel_depth, kernel_height, kernel_width)
        bias: (out_channels,)
        input: (batch, in_channels, depth, height, width), or without the batch
        output: (batch, out_channels, out_depth, out_height, out_width)
    Raises:
        CallError: a size is too small, channels cannot be divided into groups, `output_padding` is
            too large, another padding mode, or the input has other channels or axes.
    Example:
        >>> nn.ConvTranspose3d(6, 3, 2, stride=2)(tx.zeros(2, 6, 4, 4, 4)).shape
        (2, 3, 8, 8, 8)
    """

    rank = 3


class Unfold(Module):
    """Windows of images as columns (im2col).

    Args:
        kernel_size, dilation, padding, stride: of the windows, one number for both directions or a
            pair.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels * window, windows)
    Raises:
        CallError: a size is no integer of at least 1, or the input has another number of axes.
    Example:
        >>> nn.Unfold(2)(tx.zeros(1, 3, 4, 4)).shape
        (1, 12, 9)
    """

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size, self.dilation = (
            sizes(name, "kernel_size", kernel_size, 2),
            sizes(name, "dilation", dilation, 2),
        )
        self.padding, self.stride = sizes(name, "padding", padding, 2, 0), sizes(name, "stride", stride, 2)

    def _constants(self) -> dict[str, int]:
        window = dict(zip("RQ", self.kernel_size))
        return {
            **window,
            **by_axis("S", self.stride),
            **by_axis("P", self.padding),
            **by_axis("D", self.dilation),
        }

    def forward(self, input: Any) -> Any:
        return with_batch(self, input, 4, lambda x: ops.unfold2d(x, **self._constants()))

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Unfold):
    """Sum of columns at the places of their windows (col2im): the adjoint of Unfold.

    Args:
        output_size: height and width of the images.
        kernel_size, dilation, padding, stride: of the windows, one number for both directions or a
            pair.
    Shapes:
        input: (batch, channels * window, windows), or without the batch
        output: (batch, channels, *output_size)
    Raises:
        CallError: a size is no integer of at least 1, or the columns are not those of such images.
    Example:
        >>> nn.Fold((4, 4), 2)(tx.ones(1, 12, 9)).shape
        (1, 3, 4, 4)
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = sizes("Fold", "output_size", output_size, 2)

    def forward(self, input: Any) -> Any:
        height, width = self.output_size
        return with_batch(self, input, 3, lambda x: ops.fold2d(x, H=height, W=width, **self._constants()))

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
