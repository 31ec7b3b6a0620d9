"""Functions of layers whose parameters are arguments: products, convolutions, norms."""

from __future__ import annotations

from typing import Any

from texpr.nn.core.module import Module
from texpr.nn.functional.module_function import Shapes, WeightedFunction
from texpr.nn.modules.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from texpr.nn.modules.linear import Bilinear, Linear
from texpr.nn.modules.normalization import GroupNorm, LayerNorm, RMSNorm
from texpr.nn.modules.rectifiers import PReLU


def _linear(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    outputs, inputs = shapes["weight"]
    return {"in_features": inputs, "out_features": outputs}


def _bilinear(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    outputs, first, second = shapes["weight"]
    return {"in1_features": first, "in2_features": second, "out_features": outputs}


def _convolution(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    outputs, inputs, *window = shapes["weight"]
    channels = {"in_channels": inputs * settings.get("groups", 1), "out_channels": outputs}
    return {**settings, **channels, "kernel_size": tuple(window)}


def _transposed(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    inputs, outputs, *window = shapes["weight"]
    channels = {"in_channels": inputs, "out_channels": outputs * settings.get("groups", 1)}
    return {**settings, **channels, "kernel_size": tuple(window)}


def _layer_norm(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "elementwise_affine": "weight" in shapes}


def _group_norm(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "num_channels": shapes["input"][1], "affine": "weight" in shapes}


def _prelu(shapes: Shapes, settings: dict[str, Any]) -> dict[str, Any]:
    return {"num_parameters": shapes["weight"][0] if shapes["weight"] else 1}


def _conv(name: str, cls: type[Module]) -> WeightedFunction:
    signature = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"
    return WeightedFunction(name, cls, signature, _convolution)


def _conv_transpose(name: str, cls: type[Module]) -> WeightedFunction:
    signature = "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1"
    return WeightedFunction(name, cls, signature, _transposed)


linear = WeightedFunction("linear", Linear, "input, weight, bias=None", _linear)
bilinear = WeightedFunction("bilinear", Bilinear, "input1, input2, weight, bias=None", _bilinear)
conv1d = _conv("conv1d", Conv1d)
conv2d = _conv("conv2d", Conv2d)
conv3d = _conv("conv3d", Conv3d)
conv_transpose1d = _conv_transpose("conv_transpose1d", ConvTranspose1d)
conv_transpose2d = _conv_transpose("conv_transpose2d", ConvTranspose2d)
conv_transpose3d = _conv_transpose("conv_transpose3d", ConvTranspose3d)
layer_norm = WeightedFunction(
    "layer_norm", LayerNorm, "input, normalized_shape, weight=None, bias=None, eps=1e-5", _layer_norm
)
rms_norm = WeightedFunction(
    "rms_norm", RMSNorm, "input, normalized_shape, weight=None, eps=None", _layer_norm, ("weight",)
)
group_norm = WeightedFunction(
    "group_norm", GroupNorm, "input, num_groups, weight=None, bias=None, eps=1e-5", _group_norm
)
prelu = WeightedFunction("prelu", PReLU, "input, weight", _prelu, ("weight",))
