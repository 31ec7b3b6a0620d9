"""Operators whose results are known from shapes and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.onnx.converters import converter
from texpr.onnx.element_types import FROM_ONNX, TO_ONNX
from texpr.onnx.graph_conversion import Node
from texpr.onnx.narrow_types import Narrow
from texpr.onnx.operators.narrow_conversions import known_bytes
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known


@converter("Shape", control=True)
def _shape(node: Node, x: Any) -> Any:
    return Known.of(np.array(x.shape[slice(node.attr("start", 0), node.attr("end"))], np.int64))


@converter("Size", control=True)
def _size(node: Node, x: Any) -> Any:
    return Known.of(np.array(int(np.prod(x.shape, dtype=np.int64))))


@converter("ConstantOfShape", known=(0,))
def _constant(node: Node, shape: Any) -> Any:
    value = node.attr("value") or Known.of(np.zeros(1, np.float32))
    if isinstance(value, Narrow):
        one = value.tensor.array.reshape(-1)[0]  # type: ignore[union-attr]
        return known_bytes(np.full(tuple(node.ints(0)), one), value.dtype)
    return Known(np.full(tuple(node.ints(0)), value.array.reshape(-1)[0], value.array.dtype), value.dtype)


@converter("Range", known=(0, 1, 2), inferred=False)
def _range(node: Node, *_: Any) -> Any:
    start, limit, step = (np.ravel(node.known(k)) for k in range(3))
    if not start.size == limit.size == step.size == 1:
        raise node.refuse("it is from one number to one by one")
    start, limit, step = start[0], limit[0], step[0]
    if not step or not np.isfinite([start, limit, step]).all():
        raise node.refuse(f"from {start} to {limit} by {step}")
    refuse_large(node.op, [max(0, int(-(-(float(limit) - float(start)) // float(step))))], FROM_ONNX[7], True)
    return Known.of(np.arange(start.item(), limit.item(), step.item()).astype(start.dtype))


@converter("EyeLike")
def _eye(node: Node, x: Any) -> Any:
    t = node.dtype("dtype", TO_ONNX[x.dtype])
    return Known.rounded(np.eye(*x.shape, k=node.attr("k", 0)), t)


@converter("BlackmanWindow", "HannWindow", "HammingWindow", known=(0,), inferred=False)
def _window(node: Node, size: Any) -> Any:
    n = int(node.one(0))
    t = node.dtype("output_datatype")
    a = {
        "BlackmanWindow": (0.42, 0.5, 0.08),
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
    }[node.op]
    if n < 0:
        raise node.refuse(f"a window of {n} elements")
    refuse_large(node.op, [n], t, True)
    with np.errstate(
        invalid="ignore"
    ):  # of one element, its ends are one place: NaN, as ONNX's formula gives
        angle = 2 * np.pi * np.arange(n) / (n if node.attr("periodic", 1) else np.float64(n - 1))
    return Known.rounded(a[0] - a[1] * np.cos(angle) + a[2] * np.cos(2 * angle), t)


@converter("NonZero", known=(0,))
def _places(node: Node, x: Any) -> Any:
    values = node.known(0)
    found = np.nonzero(values) if values.ndim else np.zeros((0, int(values != 0)))
    return Known.of(np.array(found, np.int64))
