"""Layers with parameters, pooling and shapes: names, argument order and weight layouts of torch.nn."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from texpr import ops
from texpr.ir.dtypes import numpy_dtype
from texpr.nn import init
from texpr.nn.arguments import float_dtype, pair, whole
from texpr.nn.module import Module
from texpr.nn.parameter import Parameter
from texpr.support.errors import CallError


class Linear(Module):
    """y = x W^T + b over the last axis; W is (out_features, in_features).

    First values as torch's: even within 1 / sqrt(in_features).
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: object = "f32") -> None:
        super().__init__()
        self.in_features, self.out_features = whole("Linear", "in_features", in_features), whole("Linear", "out_features", out_features)
        _parameters(self, (self.out_features, self.in_features), self.out_features if bias else None, dtype)

    bias: Parameter | None
    weight: Parameter

    def forward(self, x: Any) -> Any:
        return ops.linear(x, self.weight) if self.bias is None else ops.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}{'' if self.bias is not None else ', bias=False'}"


class Conv2d(Module):
    """Two-dimensional convolution of (batch, channels, height, width); the weight is (out, in / groups, kernel height, kernel width).

    First values as torch's: even within 1 / sqrt(in / groups * kernel height * kernel width).
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
                 padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, bias: bool = True,
                 dtype: object = "f32") -> None:
        super().__init__()
        self.in_channels, self.out_channels = whole("Conv2d", "in_channels", in_channels), whole("Conv2d", "out_channels", out_channels)
        self.kernel_size, self.stride = pair("Conv2d", "kernel_size", kernel_size), pair("Conv2d", "stride", stride)
        self.padding, self.dilation = pair("Conv2d", "padding", padding, 0), pair("Conv2d", "dilation", dilation)
        self.groups = whole("Conv2d", "groups", groups)
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise CallError(f"Conv2d: {in_channels} input and {out_channels} output channels cannot be divided into {groups} groups",
                            code="arguments")
        shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        _parameters(self, shape, self.out_channels if bias else None, dtype)

    bias: Parameter | None
    weight: Parameter

    def forward(self, x: Any) -> Any:
        (sh, sw), (ph, pw), (dh, dw) = self.stride, self.padding, self.dilation
        constants: dict[str, Any] = {"SH": sh, "SW": sw, "PH": ph, "PW": pw, "DH": dh, "DW": dw}
        inputs = (x, self.weight) if self.bias is None else (x, self.weight, self.bias)
        if self.groups == 1:
            return ops.conv2d(*inputs, **constants)
        return ops.conv2d_grouped(*inputs, G=self.groups, **constants)

    def extra_repr(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        shown += [f"padding={self.padding}"] if self.padding != (0, 0) else []
        shown += [f"dilation={self.dilation}"] if self.dilation != (1, 1) else []
        shown += [f"groups={self.groups}"] if self.groups != 1 else []
        return ", ".join(shown + (["bias=False"] if self.bias is None else []))


class MaxPool2d(Module):
    """The largest element of every window; the stride is the window unless given."""

    def __init__(self, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None,
                 padding: int | tuple[int, int] = 0) -> None:
        super().__init__()
        self.kernel_size = pair("MaxPool2d", "kernel_size", kernel_size)
        self.stride = self.kernel_size if stride is None else pair("MaxPool2d", "stride", stride)
        self.padding = pair("MaxPool2d", "padding", padding, 0)
        if any(2 * p > k for p, k in zip(self.padding, self.kernel_size)):
            raise CallError(f"MaxPool2d: padding {self.padding} is more than half of the window {self.kernel_size}", code="arguments")

    def forward(self, x: Any) -> Any:
        (r, q), (sh, sw), (ph, pw) = self.kernel_size, self.stride, self.padding
        return ops.maxpool2d(x, R=r, Q=q, SH=sh, SW=sw, PH=ph, PW=pw)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Flatten(Module):
    """All axes from the second one on as one. The elements keep their order."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        if (start_dim, end_dim) != (1, -1):
            raise CallError(f"Flatten: axes {start_dim} to {end_dim}; only 1 to -1 can be joined", code="arguments")

    def forward(self, x: Any) -> Any:
        return x if x.ndim == 2 else getattr(ops, f"merge{x.ndim - 1}")(x, axis=1)


def _parameters(layer: Module, shape: tuple[int, ...], bias: int | None, dtype: object) -> None:
    """Weight and bias with torch's first values; the bias is drawn after the weight."""
    wanted = numpy_dtype(float_dtype(type(layer).__name__, dtype))
    layer.weight = Parameter(init.kaiming_uniform(shape, wanted), name="weight")
    layer.bias = None if bias is None else Parameter(init.uniform((bias,), 1 / sqrt(prod(shape[1:])), wanted), name="bias")
