"""Images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.core.layer_operations import with_batch
from texpr.nn.core.module import Module
from texpr.support.errors import CallError

_RANKS = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "trilinear": (3,),
    "bicubic": (2,),
}
"""Numbers of axes that each mode is for."""


class Upsample(Module):
    """Resized axes behind the channels: nearest elements or interpolation, axis after axis.

    Args:
        size: the extents behind the channels, one for all or one each; or
        scale_factor: the factor of the extents, one for all or one each.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear" or "bicubic".
        align_corners: the first and last elements stay in their places.
        recompute_scale_factor: take the factor from the extents, which are whole.
    Shapes:
        input: (batch, channels, ...) with as many axes as the mode is for
        output: (batch, channels, *size)
    Raises:
        CallError: both or neither of size and factor are given, an unknown mode, `align_corners`
            for nearest elements, or nothing is left.
    Example:
        >>> nn.Upsample(scale_factor=2)(tx.tensor([[[1.0, 2.0]]])).tolist()
        [[[1.0, 1.0, 2.0, 2.0]]]
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.mode = one_of("Upsample", "mode", mode, tuple(_RANKS))
        if (size is None) == (scale_factor is None):
            raise CallError("Upsample: give either size or scale_factor", code="arguments")
        if align_corners is not None and mode.startswith("nearest"):
            raise CallError(f"Upsample: align_corners has no meaning for mode {mode!r}", code="arguments")
        self.size, self.scale_factor, self.align_corners = size, scale_factor, bool(align_corners)
        self.recompute_scale_factor = bool(recompute_scale_factor)

    def forward(self, input: Any) -> Any:
        rank = input.ndim - 2
        if rank not in _RANKS[self.mode]:
            raise CallError(
                f"Upsample: the input has {input.ndim} dimensions, which mode {self.mode!r} is not for",
                code="rank",
            )
        x = input
        for axis, (length, scale) in enumerate(self._lengths(input.shape[2:]), 2):
            x = self._resized(x, axis, length, scale)
        return x

    def _lengths(self, before: Sequence[int]) -> list[tuple[int, float]]:
        """The new length of each axis, and the distance of two places in the old one."""
        if self.size is not None:
            lengths = [whole("Upsample", "size", m) for m in _each("size", self.size, len(before))]
            return [(m, n / m) for n, m in zip(before, lengths)]
        factors = [
            number("Upsample", "scale_factor", f, 1e-300)
            for f in _each("scale_factor", self.scale_factor, len(before))
        ]
        found = [(floor(n * f), f) for n, f in zip(before, factors)]
        if not all(m for m, _ in found) and all(before):
            raise CallError(
                f"Upsample: scale_factor {self.scale_factor} leaves nothing of {list(before)}", code="shape"
            )
        return [(m, n / m if self.recompute_scale_factor else 1 / f) for n, (m, f) in zip(before, found)]

    def _resized(self, x: Any, axis: int, length: int, scale: float) -> Any:
        if self.mode.startswith("nearest"):
            return ops.resize_axis_nearest(
                x, axis=axis, M=length, scale=scale, shift=0.5 if self.mode == "nearest-exact" else 0.0
            )
        operator = ops.resize_axis_cubic if self.mode == "bicubic" else ops.resize_axis_linear
        if self.align_corners:
            scale = (x.shape[axis] - 1) / (length - 1) if length > 1 else 0.0
        return operator(x, axis=axis, M=length, scale=scale, corners=self.align_corners)

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


def _each(name: str, value: Any, count: int) -> Sequence[Any]:
    """A value for each axis."""
    if isinstance(value, tuple | list) and len(value) != count:
        raise CallError(
            f"Upsample: {name} is {value}, and the input has {count} axes besides batch and channels",
            code="arguments",
        )
    return value if isinstance(value, tuple | list) else (value,) * count


class UpsamplingNearest2d(Upsample):
    """Images with repeated elements: Upsample with mode nearest.

    Args:
        size: the extents behind the channels, one for all or one each; or
        scale_factor: the factor of the extents, one for all or one each.
    Shapes:
        input: (batch, channels, ...)
        output: (batch, channels, *size)
    Raises:
        CallError: both or neither of size and factor are given, or nothing is left.
    Example:
        >>> nn.UpsamplingNearest2d(scale_factor=2)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 8, 8)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Images by bilinear interpolation, corners on corners: Upsample with mode bilinear.

    Args:
        size: the extents behind the channels, one for all or one each; or
        scale_factor: the factor of the extents, one for all or one each.
    Shapes:
        input: (batch, channels, height, width)
        output: (batch, channels, *size)
    Raises:
        CallError: both or neither of size and factor are given, or the input has another number of
            axes.
    Example:
        >>> nn.UpsamplingBilinear2d(scale_factor=2)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 8, 8)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """Channels rearranged as pixels (sub-pixel convolution).

    Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.

    Args:
        upscale_factor: the factor r of height and width.
    Shapes:
        input: (..., channels * r^2, height, width)
        output: (..., channels, height * r, width * r)
    Raises:
        CallError: `upscale_factor` is no integer of at least 1, or r^2 does not divide the
            channels.
    Example:
        >>> nn.PixelShuffle(2)(tx.ones(1, 12, 4, 4)).shape
        (1, 3, 8, 8)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = whole("PixelShuffle", "upscale_factor", upscale_factor)

    def forward(self, input: Any) -> Any:
        return with_batch(
            self, input, 4, lambda x: ops.pixel_shuffle(x, R=self.upscale_factor, Q=self.upscale_factor)
        )

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels rearranged as channels: the inverse of PixelShuffle.

    Args:
        downscale_factor: the divisor r of height and width.
    Shapes:
        input: (..., channels, height * r, width * r)
        output: (..., channels * r^2, height, width)
    Raises:
        CallError: `downscale_factor` is no integer of at least 1, or r does not divide height and
            width.
    Example:
        >>> nn.PixelUnshuffle(2)(tx.ones(1, 3, 8, 8)).shape
        (1, 12, 4, 4)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = whole("PixelUnshuffle", "downscale_factor", downscale_factor)

    def forward(self, input: Any) -> Any:
        return with_batch(
            self, input, 4, lambda x: ops.pixel_unshuffle(x, R=self.downscale_factor, Q=self.downscale_factor)
        )

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels interleaved by groups: `(g, n)` channels become `(n, g)`.

    Zhang et al., ShuffleNet, 2017.

    Args:
        groups: the number g of groups.
    Shapes:
        input: (batch, channels, ...)
        output: the shape of the input
    Raises:
        CallError: `groups` is no integer of at least 1, or does not divide the channels.
    Example:
        >>> nn.ChannelShuffle(2)(tx.tensor([[[0.0], [1.0], [2.0], [3.0]]])).tolist()
        [[[0.0], [2.0], [1.0], [3.0]]]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = whole("ChannelShuffle", "groups", groups)

    def forward(self, input: Any) -> Any:
        return ops.channel_shuffle(input, G=self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
