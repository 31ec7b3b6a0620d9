"""Products and normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import F32, F64, I32, DType
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import each, number, wide
from texpr.onnx.values import Known


@converter("MatMul")
def _matmul(node: Node, a: Any, b: Any) -> Any:
    return a @ b


@converter("Gemm")
def _gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    left = a.T if node.attr("transA", 0) else a
    if (
        node.attr("transB", 0)
        and alpha == beta == 1
        and c is not None
        and c.shape == (b.shape[0],)
        and a.dtype.is_float
    ):
        return ops.linear(left, b, c)
    found, t = left @ (b.T if node.attr("transB", 0) else b), a.dtype
    if not t.is_float and (alpha != int(alpha) or beta != int(beta)):
        found, c = found.astype("f64"), None if c is None else c.astype("f64")
    elif not t.is_float:
        alpha, beta = int(alpha), int(beta)
    scaled, added = (
        f"{{{k}}}" if v == 1 else f"{{{k}}} * {number(v) if found.dtype.is_float else v}"
        for k, v in ((0, alpha), (1, beta))
    )
    if c is None or beta == 0:
        return (found if alpha == 1 else each("scale", scaled, found)).astype(t.name)
    return each("add", f"{scaled} + {added}", found, c).astype(t.name)


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


def _widest(*given: Any) -> DType:
    """The type that holds the values of all of these floats."""
    types = {v.dtype for v in given}
    return (
        max(types, key=lambda t: t.bits)
        if len({(t.kind, t.bits) for t in types if t.bits < 32}) < 2 or F64 in types
        else F32
    )


@converter("BatchNormalization", kept=(3, 4))
def _batch_norm(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    eps, t, shape = node.attr("epsilon", 1e-5), _widest(x, scale, bias, mean, variance), x.shape
    if len(shape) == 1:  # samples of one channel
        x = x.expand_dims(1)
    elif node.version < 9 and not node.attr("spatial", 1):  # every element of a sample is a channel
        x, scale, bias, mean, variance = (
            x.reshape(shape[0], scale.size),
            *(v.reshape(v.size) for v in (scale, bias, mean, variance)),
        )
    given, scale, bias = (v.astype(t.name) for v in (x, scale, bias))
    if not node.attr("training_mode", 0):
        found = ops.batch_norm(
            given, mean.astype(t.name), variance.astype(t.name), scale, bias, eps=eps
        ).astype(x.dtype.name)
        return found.reshape(shape)
    y, now, spread = ops.batch_norm_training(given, scale, bias, eps=eps)
    kept = number(node.attr("momentum", 0.9))
    update = f"{{0}} * {kept} + {{1}} * (1 - {kept})"
    running = (
        each("running", update, old.astype(t.name), new).astype(old.dtype.name)
        for old, new in ((mean, now), (variance, spread))
    )
    return y.astype(x.dtype.name).reshape(shape), *running


@converter("InstanceNormalization")
def _instance_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return ops.instance_norm(x, scale, bias, eps=node.attr("epsilon", 1e-5))


@converter("LayerNormalization")
def _layer_norm(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    axes, t = tuple(range(node.axis(node.attr("axis", -1), x.ndim), x.ndim)), x.dtype
    stash = node.dtype("stash_type")
    given = x.astype((stash if t.bits < 32 else t).name)
    mean = given.mean(axes, keepdims=True)
    spread = given - mean
    inverse = each(
        "inverse",
        f"1 / sqrt({{0}} + {number(node.attr('epsilon', 1e-5))})",
        (spread * spread).mean(axes, keepdims=True),
    )
    y = each("layer_norm", "{0} * {1}", (spread * inverse).astype(t.name), scale)
    return (
        (y if bias is None else each("add", "{0} + {1}", y, bias)),
        mean.astype(stash.name),
        inverse.astype(stash.name),
    )


@converter("GroupNormalization")
def _group_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    groups, t = node.attr("num_groups"), x.dtype
    given = x.astype(node.dtype("stash_type").name) if t.bits < 32 else x
    found = ops.group_norm(given, G=groups, eps=node.attr("epsilon", 1e-5)).astype(t.name)
    channel = (1, -1, *[1] * (x.ndim - 2))
    return each("affine", "{0} * {1} + {2}", found, scale.reshape(channel), bias.reshape(channel))


@converter("LpNormalization")
def _lp_norm(node: Node, x: Any) -> Any:
    axis, p, given = node.axis(node.attr("axis", -1), x.ndim), node.attr("p", 2), x.astype(wide(x.dtype).name)
    if p not in (1, 2):
        raise node.refuse(f"p is {p}; 1 and 2 are read")
    norm = abs(given).sum(axis, keepdims=True) if p == 1 else (given * given).sum(axis, keepdims=True).sqrt()
    return each("lp_norm", "if {1} == 0 then 0 else {0} / {1}", given, norm).astype(x.dtype.name)


@converter("MeanVarianceNormalization")
def _mean_variance(node: Node, x: Any) -> Any:
    axes, given = tuple(node.attr("axes", [0, 2, 3])), x.astype(wide(x.dtype).name)
    away = given - given.mean(axes, keepdims=True)
    return each("divide", "{0} / (sqrt({1}) + 1e-9)", away, (away * away).mean(axes, keepdims=True)).astype(
        x.dtype.name
    )


@converter("LRN")
def _local(node: Node, x: Any) -> Any:
    size = node.attr("size")
    given = (
        x if size % 2 else ops.flip(x, axis=1)
    )  # an even window reaches further to later channels, that of the library to earlier ones
    alpha, beta, bias = node.attr("alpha", 1e-4), node.attr("beta", 0.75), node.attr("bias", 1.0)
    found = ops.local_response_norm(given, size=size, alpha=alpha, beta=beta, k=bias)
    return found if size % 2 else ops.flip(found, axis=1)


@converter("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global(node: Node, x: Any) -> Any:
    axes = tuple(range(2, x.ndim))
    if node.op == "GlobalLpPool":
        p, given = node.order(), x.astype(wide(x.dtype).name)
        powers = each("power", f"abs({{0}}) ** {number(p)}", given).sum(axes, keepdims=True)
        return each("root", f"{{0}} ** {number(1 / p)}", powers).astype(x.dtype.name)
    return x.mean(axes, keepdims=True) if node.op == "GlobalAveragePool" else x.max(axes, keepdims=True)


@converter("Det")
def _determinant(node: Node, x: Any) -> Any:
    n = x.shape[-1]
    if n > 8:
        raise node.refuse(f"determinants of {n} rows; up to 8 are read")
    if not x.size:
        return node.run.tensor(Known.rounded(np.ones(x.shape[:-2]), x.dtype))
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
