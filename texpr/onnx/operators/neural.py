"""Products and normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import I32
from texpr.onnx.run import Node
from texpr.onnx.table import converter
from texpr.onnx.texts import each, number
from texpr.onnx.types import FROM_ONNX


@converter("MatMul")
def _matmul(node: Node, a: Any, b: Any) -> Any:
    return a @ b


@converter("Gemm")
def _gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    left = a.T if node.attr("transA", 0) else a
    if node.attr("transB", 0) and alpha == beta == 1 and c is not None and c.shape == (b.shape[0],) and a.dtype.is_float:
        return ops.linear(left, b, c)
    found = left @ (b.T if node.attr("transB", 0) else b)
    found = found if alpha == 1 else each("scale", f"{{0}} * {number(alpha)}", found) if a.dtype.is_float else found * int(alpha)
    if c is None or beta == 0:
        return found
    return each("add", "{0} + {1}" if beta == 1 else f"{{0}} + {number(beta)} * {{1}}", found, c)


@converter("Einsum")
def _einsum(node: Node, *given: Any) -> Any:
    text = node.attr("equation").replace(" ", "")
    return ops.einsum(text, *given)


@converter("MatMulInteger")
def _matmul_integer(node: Node, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return without_zero(a, a_zero, -1) @ without_zero(b, b_zero, 0)


def without_zero(x: Any, zero: Any, axis: int) -> Any:
    """Integers without their zero point, as i32."""
    wide_ = x.astype("i32")
    if zero is None:
        return wide_
    if zero.ndim == 1 and zero.shape[0] > 1 and axis == -1:
        zero = zero.reshape(-1, 1)
    return each("less", "{0} - {1}", wide_, zero.astype("i32"), result=I32)


@converter("BatchNormalization", kept=(3, 4))
def _batch_norm(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    eps = node.attr("epsilon", 1e-5)
    if not node.attr("training_mode", 0):
        if len({v.dtype for v in (x, scale, bias, mean, variance)}) > 1:
            scale, bias, mean, variance = (v.astype(x.dtype.name) for v in (scale, bias, mean, variance))
        return ops.batch_norm(x, mean, variance, scale, bias, eps=eps)
    y, now, spread = ops.batch_norm_training(x, scale, bias, eps=eps)
    kept = number(node.attr("momentum", 0.9))
    update = f"{{0}} * {kept} + {{1}} * (1 - {kept})"
    return y, each("running", update, mean, now), each("running", update, variance, spread)


@converter("InstanceNormalization")
def _instance_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return ops.instance_norm(x, scale, bias, eps=node.attr("epsilon", 1e-5))


@converter("LayerNormalization")
def _layer_norm(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    axes, t = tuple(range(node.attr("axis", -1) % x.ndim, x.ndim)), x.dtype
    computed = FROM_ONNX[node.attr("stash_type", 1)] if t.bits < 32 else t
    given = x.astype(computed.name)
    mean = given.mean(axes, keepdims=True)
    spread = given - mean
    inverse = each("inverse", f"1 / sqrt({{0}} + {number(node.attr('epsilon', 1e-5))})", (spread * spread).mean(axes, keepdims=True))
    y = each("layer_norm", "{0} * {1}", (spread * inverse).astype(t.name), scale)
    return (y if bias is None else each("add", "{0} + {1}", y, bias)), mean, inverse


@converter("GroupNormalization")
def _group_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    groups, eps = node.attr("num_groups"), node.attr("epsilon", 1e-5)
    if node.version >= 21:
        return ops.group_norm(x, scale, bias, G=groups, eps=eps)
    rows = x.reshape(x.shape[0], groups, -1)
    shape = (1, groups, 1)
    found = ops.group_norm(rows, G=groups, eps=eps)
    return each("affine", "{0} * {1} + {2}", found, scale.reshape(shape), bias.reshape(shape)).reshape(x.shape)


@converter("LpNormalization")
def _lp_norm(node: Node, x: Any) -> Any:
    axis, p = node.attr("axis", -1) % x.ndim, node.attr("p", 2)
    norm = abs(x).sum(axis, keepdims=True) if p == 1 else (x * x).sum(axis, keepdims=True).sqrt()
    return each("lp_norm", "if {1} == 0 then 0 else {0} / {1}", x, norm)


@converter("MeanVarianceNormalization")
def _mean_variance(node: Node, x: Any) -> Any:
    axes = tuple(node.attr("axes", [0, 2, 3]))
    away = x - x.mean(axes, keepdims=True)
    return each("divide", "{0} / (sqrt({1}) + 1e-9)", away, (away * away).mean(axes, keepdims=True))


@converter("LRN")
def _local(node: Node, x: Any) -> Any:
    size = node.attr("size")
    if size % 2 == 0:
        raise node.refuse(f"size is {size}, and odd sizes are read")
    return ops.local_response_norm(x, size=size, alpha=node.attr("alpha", 1e-4), beta=node.attr("beta", 0.75), k=node.attr("bias", 1.0))


@converter("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global(node: Node, x: Any) -> Any:
    axes = tuple(range(2, x.ndim))
    if node.op == "GlobalLpPool":
        p = float(node.attr("p", 2))
        return each("root", f"{{0}} ** {number(1 / p)}", each("power", f"abs({{0}}) ** {number(p)}", x).sum(axes, keepdims=True))
    return x.mean(axes, keepdims=True) if node.op == "GlobalAveragePool" else x.max(axes, keepdims=True)


@converter("Det")
def _determinant(node: Node, x: Any) -> Any:
    n = x.shape[-1]
    if n > 8:
        raise node.refuse(f"determinants of {n} rows; up to 8 are read")
    rows = x.reshape(-1, n, n)
    return _expanded(rows, n).reshape(x.shape[:-2])


def _expanded(rows: Any, n: int) -> Any:
    """By the first row."""
    if n == 1:
        return rows[:, 0, 0]
    parts = []
    for k in range(n):
        keep = [j for j in range(n) if j != k]
        parts.append(rows[:, 0, k] * _expanded(rows[:, 1:, np.array(keep)], n - 1) * float((-1) ** k))
    return sum(parts[1:], parts[0])


