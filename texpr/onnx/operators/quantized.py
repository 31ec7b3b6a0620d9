"""Small integers, and floats of 8 bits, that stand for floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import F32, U8, DType, int_range
from texpr.onnx.converters import converter
from texpr.onnx.element_types import TO_ONNX
from texpr.onnx.graph_conversion import Node
from texpr.onnx.narrow_types import NARROW, Narrow, NarrowType
from texpr.onnx.operator_definitions import each
from texpr.onnx.operators.elementwise_operators import saturated
from texpr.onnx.operators.narrow_conversions import narrowed, numbers
from texpr.onnx.operators.neural import without_zero
from texpr.onnx.operators.windows import integer_convolution
from texpr.onnx.values import Known, tensor_of


def _along(node: Node, x: Any, scale: Any) -> Any:
    """A scale or zero point in the shape that broadcasts with x: one number, one per element of
    an axis, or one per block of it.
    """
    if scale.ndim == 0 or scale.size == 1:
        return scale.reshape(())
    axis, block = node.axis(node.attr("axis", 1), x.ndim), node.attr("block_size", 0)
    if scale.ndim == 1 and not block:
        return scale.reshape(tuple(-1 if k == axis else 1 for k in range(x.ndim)))
    repeated = ops.repeat(scale, axis=axis, times=block)
    return repeated[(*[slice(None)] * axis, slice(0, x.shape[axis]))]


def rounded(node: Node, x: Any, scale: Any, zero: Any, t: Any, computed: Any = F32) -> Any:
    """round(x / scale) + zero, between the least and the greatest number of t; floats of 8 bits
    have no zero point.

    Args:
        computed: what the quotient is rounded to.
    """
    quotient = each("quotient", "{0} / {1}", *(v.astype(computed.name) for v in (x, scale))).astype(F32.name)
    if isinstance(t, NarrowType) and not t.is_int:
        return narrowed(node, quotient, t)
    if isinstance(t, DType) and t.is_float:
        return saturated(quotient, t) if node.attr("saturate", 1) else quotient.astype(t.name)
    quotient = each("round", "round({0})", quotient)
    if zero is not None:
        quotient = each("shift", "{0} + {1}", quotient, zero.astype("f32"))
    (lo, hi), kind = (t.range, t.stored) if isinstance(t, NarrowType) else (int_range(t), t)
    found = each(
        "saturate", f"{kind}(if isnan({{0}}) then {lo} else clamp({{0}}, {lo}, {hi}))", quotient, result=kind
    )
    return Narrow(found, t) if isinstance(t, NarrowType) else found


def _precision(node: Node, scale: Any) -> Any:
    """The dtype of QuantizeLinear's division: the attribute's, else the type of the scale; f32
    before version 23, which says nothing.
    """
    if node.version < 23:
        return F32
    return node.dtype("precision", TO_ONNX[scale.dtype])


def _output_type(node: Node) -> DType | NarrowType:
    number = node.attr("output_dtype", 0)
    return NARROW[number] if number in NARROW else node.dtype("output_dtype", TO_ONNX[U8])


@converter("QuantizeLinear", kept=(1,), narrow=True)
def _quantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    t = zero.dtype if zero is not None else _output_type(node)
    return rounded(
        node,
        x,
        _along(node, x, scale),
        None if zero is None else _along(node, x, tensor_of(zero)),
        t,
        _precision(node, scale),
    )


@converter("DequantizeLinear", kept=(1,), narrow=True)
def _dequantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    x, zero = (numbers(node, v) if isinstance(v, Narrow) else v for v in (x, zero))
    away = x.astype("f32" if x.dtype.is_float else "i32")
    if zero is not None and not x.dtype.is_float:
        away = each("less", "{0} - {1}", away, _along(node, x, zero).astype("i32"))
    found = each("times", "{0} * {1}", away.astype(F32.name), _along(node, x, scale).astype(F32.name))
    return found.astype(node.dtype("output_dtype", TO_ONNX[scale.dtype]).name)


@converter("DynamicQuantizeLinear")
def _dynamic(node: Node, x: Any) -> Any:
    lo, hi = each("lo", "min({0}, 0)", x.min()), each("hi", "max({0}, 0)", x.max())
    scale = each("scale", "({1} - {0}) / 255", lo, hi)
    zero = each("zero", "u8(clamp(round(0 - {0} / {1}), 0, 255))", lo, scale, result=U8)
    return rounded(node, x, scale, zero, U8), scale, zero


@converter("QLinearMatMul")
def _matmul(
    node: Node,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    y_scale: Any,
    y_zero: Any,
) -> Any:
    found = (without_zero(a, a_zero, -1) @ without_zero(b, b_zero, 0)).astype("f32")
    rows = a_scale.expand_dims(1) if a_scale.ndim == 1 and a_scale.size > 1 else a_scale
    factor = each("factor", "{0} * {1} / {2}", *(v.astype("f32") for v in (rows, b_scale, y_scale)))
    return rounded(node, each("scaled", "{0} * {1}", found, factor), _one(node), y_zero, y_zero.dtype)


@converter("QLinearConv")
def _conv(
    node: Node,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    w: Any,
    w_scale: Any,
    w_zero: Any,
    y_scale: Any,
    y_zero: Any,
    bias: Any = None,
) -> Any:
    found = integer_convolution(node, x, w, x_zero, w_zero)
    channel = (1, -1, *[1] * (x.ndim - 2))
    found = found if bias is None else each("add", "{0} + {1}", found, bias.reshape(channel))
    w_scale = w_scale.reshape(channel) if w_scale.size > 1 else w_scale.reshape(())
    factor = each("factor", "{0} * {1} / {2}", w_scale, x_scale.reshape(()), y_scale.reshape(()))
    return rounded(
        node,
        each("scaled", "{0} * {1}", found.astype("f32"), factor),
        _one(node),
        y_zero.reshape(()),
        y_zero.dtype,
    )


def _one(node: Node) -> Any:
    return node.run.tensor(Known.of(np.float32(1)))
