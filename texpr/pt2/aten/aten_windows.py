"""Pooling and resizing, by the layers of texpr.nn."""

from __future__ import annotations

from math import floor
from typing import Any

from texpr import nn, ops
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten


def _numbers(value: Any) -> Any:
    """One number for all axes, or one for each."""
    if isinstance(value, list):
        return tuple(value) if len(value) > 1 else value[0] if value else None
    return value


def _rank(call: Call) -> str:
    """The number of axes that an operator's name ends with."""
    name = call.node.operator.partition(".")[0].removesuffix("_with_indices")
    return name[-2:]


@aten("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(
    call: Call,
    self: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    layer = getattr(nn, f"MaxPool{_rank(call)}")
    given = map(_numbers, (kernel_size, stride, padding, dilation))
    return layer(*given, ceil_mode=ceil_mode)(self)


@aten("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d_with_indices")
def _max_pool_places(
    call: Call,
    self: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    layer = getattr(nn, f"MaxPool{_rank(call)}")
    given = list(map(_numbers, (kernel_size, stride, padding, dilation)))
    return layer(*given, return_indices=True, ceil_mode=ceil_mode)(self)


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    call: Call,
    self: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    layer = getattr(nn, f"AvgPool{_rank(call)}")
    more = {} if divisor_override is None else {"divisor_override": divisor_override}
    given = map(_numbers, (kernel_size, stride, padding))
    return layer(*given, ceil_mode=ceil_mode, count_include_pad=count_include_pad, **more)(self)


@aten(*(f"{mark}adaptive_avg_pool{k}d" for mark in ("", "_") for k in (1, 2, 3)))
def _adaptive_avg_pool(call: Call, self: Any, output_size: Any) -> Any:
    if _numbers(output_size) in (1, (1, 1), (1, 1, 1)):
        count = int(_rank(call)[0])
        return self.mean(tuple(range(self.ndim - count, self.ndim)), keepdims=True)
    return getattr(nn, f"AdaptiveAvgPool{_rank(call)}")(_numbers(output_size))(self)


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(call: Call, self: Any, output_size: Any) -> Any:
    return getattr(nn, f"AdaptiveMaxPool{_rank(call)}")(_numbers(output_size), return_indices=True)(self)


def _resized(
    x: Any, output_size: Any, scales: list[Any], operator: Any, corners: bool | None, shift: float | None
) -> Any:
    """Resized axis by axis; a scale that is given counts where places are computed."""
    given = output_size or [floor(n * s) for n, s in zip(x.shape[2:], scales)]
    for axis, m in enumerate(given, 2):
        s = scales[axis - 2] if axis - 2 < len(scales) else None
        scale = 1 / s if s else x.shape[axis] / m
        if corners:
            scale = (x.shape[axis] - 1) / (m - 1) if m > 1 else 0.0
        more = {"shift": shift} if corners is None else {"corners": bool(corners)}
        x = operator(x, axis=axis, M=m, scale=scale, **more)
    return x


def _nearest(name: str, shift: float) -> None:
    @aten(*(f"{name}{k}d" for k in (1, 2, 3)))
    def convert(
        call: Call,
        self: Any = None,
        output_size: Any = None,
        scales: Any = None,
        scales_d: Any = None,
        scales_h: Any = None,
        scales_w: Any = None,
        scale_factors: Any = None,
        input: Any = None,  # noqa: A002
    ) -> Any:
        x = self if input is None else input
        each = scale_factors or [scales, scales_d, scales_h, scales_w][-(x.ndim - 2) :]
        if x.ndim == 3 and not scale_factors:
            each = [scales]
        return _resized(x, output_size, each, ops.resize_axis_nearest, None, shift)


_nearest("upsample_nearest", 0.0)
_nearest("_upsample_nearest_exact", 0.5)


def _interpolated(names: tuple[str, ...], operator: Any) -> None:
    @aten(*names)
    def convert(
        call: Call,
        self: Any = None,
        output_size: Any = None,
        align_corners: bool = False,
        scales: Any = None,
        scales_d: Any = None,
        scales_h: Any = None,
        scales_w: Any = None,
        scale_factors: Any = None,
        input: Any = None,  # noqa: A002
    ) -> Any:
        x = self if input is None else input
        each = scale_factors or [scales, scales_d, scales_h, scales_w][-(x.ndim - 2) :]
        if x.ndim == 3 and not scale_factors:
            each = [scales]
        return _resized(x, output_size, each, operator, align_corners, None)


_interpolated(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), ops.resize_axis_linear)
_interpolated(("upsample_bicubic2d",), ops.resize_axis_cubic)


@aten("im2col")
def _im2col(
    call: Call, self: Any, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Any:
    return nn.Unfold(tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))(self)
