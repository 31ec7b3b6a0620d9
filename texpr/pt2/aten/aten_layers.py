"""Layers: products with weights, convolutions, normalisations, dropout."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.pt2.aten.aten_shapes import _pad
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import alike, each, number, promoted
from texpr.pt2.memory_layouts import same_unless_trained


def _present(**inputs: Any) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if value is not None}


@aten("linear")
def _linear(call: Call, input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    return ops.linear(input, weight, **_present(bias=bias))


@aten("matmul", "mm", "bmm", "mv", "dot", "vdot")
def _matmul(call: Call, self: Any, **other: Any) -> Any:
    (second,) = other.values()
    a, b = alike(self, second)
    return a @ b


@aten("inner")
def _inner(call: Call, self: Any, other: Any) -> Any:
    return np.inner(*alike(self, other))


@aten("addmm", "addmv", "baddbmm")
def _addmm(call: Call, self: Any, *, beta: Any = 1, alpha: Any = 1, **factors: Any) -> Any:
    a, b = factors.values()
    t = promoted(self, a, b)
    product = a.astype(t) @ b.astype(t)
    if beta == 1 and alpha == 1:
        return each("addmm", "{0} + {1}", product, self, result=t)
    text = f"{number(alpha, t)} * {{0}}" + ("" if beta == 0 else f" + {number(beta, t)} * {{1}}")
    return each("addmm", text, *((product,) if beta == 0 else (product, self)), result=t)


@aten("einsum")
def _einsum(call: Call, equation: str, tensors: list[Any], path: Any = None) -> Any:
    return ops.einsum(equation.replace(" ", ""), *alike(*tensors))


def _each_axis(value: Any, rank: int) -> list[int]:
    """A number for each axis of windows, from one for all."""
    found = list(value) if isinstance(value, list) else [value]
    return found * rank if len(found) == 1 else found


def by_axis(letter: str, values: Sequence[int]) -> dict[str, int]:
    """Constants of operators on windows."""
    return {letter + axis: value for axis, value in zip("UHW"[-len(values) :], values)}


def _convolution(
    call: Call, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    rank = weight.ndim - 2
    if x.ndim == rank + 1:
        single = _convolution(call, x.expand_dims(0), weight, bias, stride, padding, dilation, groups)
        return single.reshape(single.shape[1:])
    step = _each_axis(dilation, rank)
    if isinstance(padding, str):
        spans = [d * (k - 1) if padding == "same" else 0 for d, k in zip(step, weight.shape[2:])]
        sides = [n for s in reversed(spans) for n in (s // 2, s - s // 2)]
        zeros = [s // 2 for s in spans]
        if any(s % 2 for s in spans):
            x, zeros = _pad(call, x, sides), [0] * rank
    else:
        zeros = _each_axis(padding, rank)
    constants = {**by_axis("S", _each_axis(stride, rank)), **by_axis("P", zeros), **by_axis("D", step)}
    given = _present(bias=bias)
    if rank == 2 and groups == 1:
        return ops.conv2d(x, weight, **given, **constants)
    operator = ops.conv2d_grouped if rank == 2 else getattr(ops, f"conv{rank}d")
    return operator(x, weight, **given, G=groups, **constants)


@aten("conv1d", "conv2d", "conv3d")
def _conv(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    return _convolution(call, input, weight, bias, stride, padding, dilation, groups)


@aten("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    rank = weight.ndim - 2
    constants = {
        **by_axis("S", _each_axis(stride, rank)),
        **by_axis("P", _each_axis(padding, rank)),
        **by_axis("D", _each_axis(dilation, rank)),
        **by_axis("E", _each_axis(output_padding, rank)),
    }
    x = input if input.ndim == rank + 2 else input.expand_dims(0)
    found = getattr(ops, f"conv_transpose{rank}d")(x, weight, **_present(bias=bias), G=groups, **constants)
    return found if x is input else found.reshape(found.shape[1:])


@aten("convolution")
def _any_convolution(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    if transposed:
        return _conv_transpose(call, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolution(call, input, weight, bias, stride, padding, dilation, groups)


@aten("batch_norm")
def _batch_norm(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    if not training:
        scales = _present(weight=weight, bias=bias)
        return ops.batch_norm(input, running_mean, running_var, **scales, eps=float(eps))
    y, _, _, mean, variance = _trained(input, weight, bias, running_mean, running_var, momentum, eps)
    if running_mean is not None:
        call.assign("running_mean", mean)
        call.assign("running_var", variance)
    return y


def _trained(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, ...]:
    """Normalised by the batch; its mean, 1 over its deviation, and the next running statistics."""
    y, mean, variance = ops.batch_norm_training(x, **_present(weight=weight, bias=bias), eps=float(eps))
    inverse = each("inverse", f"rsqrt({{0}} + {number(eps, x.dtype)})", variance, result=x.dtype)
    if running_mean is None:
        return y, mean, inverse, None, None
    count = x.shape[0] * prod(x.shape[2:])
    updated = [
        ops.running_update(old, new, momentum=float(momentum), scale=scale)
        for old, new, scale in ((running_mean, mean, 1.0), (running_var, variance, count / max(count - 1, 1)))
    ]
    return y, mean, inverse, *updated


@aten("_native_batch_norm_legit_no_training")
def _batch_norm_of_statistics(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    y = _batch_norm(call, input, weight, bias, running_mean, running_var, False, momentum, eps)
    none = call.constant(np.zeros(0, np.float32))
    return y, none, none


@aten("_native_batch_norm_legit_functional", "native_batch_norm", "_native_batch_norm_legit")
def _native_batch_norm(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    running_mean: Any = None,
    running_var: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training:
        found = _trained(input, weight, bias, running_mean, running_var, momentum, eps)
        if call.count == 3 and running_mean is not None:
            call.assign("running_mean", found[3])
            call.assign("running_var", found[4])
        return found
    none = call.constant(np.zeros(0, np.float32))
    y = _batch_norm(call, input, weight, bias, running_mean, running_var, False, momentum, eps)
    return y, none, none, running_mean, running_var


@aten("instance_norm")
def _instance_norm(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    if not use_input_stats:
        return _batch_norm(call, input, weight, bias, running_mean, running_var, False, momentum, eps)
    return ops.instance_norm(input, **_present(weight=weight, bias=bias), eps=float(eps))


@aten("layer_norm")
def _layer_norm(
    call: Call,
    input: Any,  # noqa: A002
    normalized_shape: list[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    axis = input.ndim - len(normalized_shape)
    return ops.layer_norm(input, **_present(weight=weight, bias=bias), axis=axis, eps=float(eps))


def _statistics(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Mean, and 1 over the deviation."""
    spread = x.var(axes, keepdims=True)
    inverse = each("inverse", f"rsqrt({{0}} + {number(eps, x.dtype)})", spread, result=x.dtype)
    return x.mean(axes, keepdims=True), inverse


@aten("native_layer_norm")
def _native_layer_norm(
    call: Call,
    input: Any,  # noqa: A002
    normalized_shape: list[int],
    weight: Any,
    bias: Any,
    eps: float,
) -> Any:
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    y = _layer_norm(call, input, normalized_shape, weight, bias, eps)
    return y, *_statistics(input, axes, eps)


@aten("rms_norm", "_fused_rms_norm")
def _rms_norm(
    call: Call,
    input: Any,  # noqa: A002
    normalized_shape: list[int],
    weight: Any = None,
    eps: float | None = None,
) -> Any:
    axis = input.ndim - len(normalized_shape)
    small = 2.0 ** -{"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[input.dtype.name] if eps is None else eps
    y = ops.rms_norm(input, **_present(weight=weight), axis=axis, eps=float(small))
    if call.count == 1:
        return y
    square = (input * input).mean(tuple(range(axis, input.ndim)), keepdims=True)
    return y, each("inverse", f"rsqrt({{0}} + {number(small, input.dtype)})", square, result=input.dtype)


@aten("group_norm")
def _group_norm(
    call: Call,
    input: Any,  # noqa: A002
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    return ops.group_norm(input, **_present(weight=weight, bias=bias), G=num_groups, eps=float(eps))


@aten("native_group_norm")
def _native_group_norm(
    call: Call,
    input: Any,  # noqa: A002
    weight: Any,
    bias: Any,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> Any:
    y = _group_norm(call, input, group, weight, bias, eps)
    mean, inverse = _statistics(input.reshape(N, group, -1), (2,), eps)
    return y, mean.reshape(N, group), inverse.reshape(N, group)


@aten("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", shares=same_unless_trained)
def _dropout(call: Call, p: float, train: bool, input: Any = None, self: Any = None) -> Any:  # noqa: A002
    x = self if input is None else input  # the operator that works in place has another name for it
    if not train or p == 0:
        return x.own()
    if not call.node.operator.startswith("dropout"):
        raise call.refuse("random numbers of another kind than Dropout's", help="export model.eval()")
    return ops.dropout(x, call.run.next_seed(), p=float(p))


@aten("native_dropout")
def _native_dropout(call: Call, input: Any, p: float, train: bool | None) -> Any:  # noqa: A002
    if not train or p == 0:
        return input.own(), input == input
    found = ops.dropout(
        each("ones", "if {0} == {0} then 1 else 1", input, result=input.dtype),
        call.run.next_seed(),
        p=float(p),
    )
    return input * found, found != 0
