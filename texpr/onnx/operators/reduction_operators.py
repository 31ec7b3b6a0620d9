"""Operators that reduce axes, and sums along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import operator_texts
from texpr.ir.dtypes import BOOL, I64, accumulator, int_range
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import each
from texpr.onnx.operator_definitions import written as texts
from texpr.onnx.values import Known

_TEXTS = {
    "ReduceSum": "sum({over}: {x})",
    "ReduceProd": "prod({over}: {x})",
    "ReduceMax": "max({over}: {x})",
    "ReduceMin": "min({over}: {x})",
    "ReduceL1": "sum({over}: abs({x}))",
    "ReduceSumSquare": "sum({over}: {x} * {x})",
    "ReduceL2": "sqrt(sum({over}: {x} * {x}))",
    "ReduceLogSum": "log(sum({over}: {x}))",
    "ReduceMean": "sum({over}: {x}) / {t}({count})",
    "ReduceLogSumExp": "m{kept} = max({over}: {x}) ;; (if isfinite(m{kept}) then m{kept} else 0) + "
    "log(sum({over}: exp({x} - (if isfinite(m{kept}) then m{kept} else 0))))",
}
_TRUNCATED = (
    "m{kept} = sum({over}: {x}) ;; m{kept} // {t}({count}) + (if m{kept} < 0 and m{kept} % {t}({count}) != 0 "
    "then 1 else 0)"
)
"""A mean of integers, towards 0."""


@converter(*_TEXTS, known=(1,))
def _reduced(node: Node, x: Any, axes: Any = None) -> Any:
    given, keep = node.ints(1, "axes"), bool(node.attr("keepdims", 1))
    if not x.ndim or not given and node.attr("noop_with_empty_axes", 0):  # every element is reduced by itself
        chosen, keep, x = [x.ndim], False, x.expand_dims(x.ndim)
    else:
        chosen = sorted({node.axis(a, x.ndim) for a in given or range(x.ndim)})
    t = x.dtype
    if any(x.shape[a] == 0 for a in chosen):
        return _of_nothing(node, x, chosen, keep)
    if t == BOOL:
        return (x.any if node.op == "ReduceMax" else x.all)(tuple(chosen), keep)
    computed, text = accumulator(t), _TEXTS[node.op]
    if not t.is_float and ("sqrt" in text or "log" in text):
        return _reduced_float(node, x, chosen, keep)
    if not t.is_float and node.op == "ReduceMean":
        text = _TRUNCATED if t.is_signed else text.replace("/", "//")
    before, mark, last = text.rpartition(" ;; ")
    text = text if computed == t else f"{before}{mark}{t}({last})"
    return operator_texts.reduction(node.op.lower(), text, x.ndim, chosen, keep, t, t, computed)(x)


def _reduced_float(node: Node, x: Any, chosen: list[int], keep: bool) -> Any:
    wide = x.astype("f64")
    found = operator_texts.reduction(
        node.op.lower(), _TEXTS[node.op], x.ndim, chosen, keep, wide.dtype, wide.dtype, wide.dtype
    )(wide)
    return found.astype(x.dtype.name)


def _of_nothing(node: Node, x: Any, chosen: list[int], keep: bool) -> Any:
    """Reductions of no elements; what integers cannot say is their lowest number."""
    t = x.dtype
    lowest, highest = (-np.inf, np.inf) if t.is_float else (0, 1) if t == BOOL else int_range(t)
    value = {
        "ReduceProd": 1,
        "ReduceMax": lowest,
        "ReduceMin": highest,
        "ReduceLogSum": lowest,
        "ReduceLogSumExp": lowest,
        "ReduceMean": np.nan if t.is_float else 0,
    }.get(node.op, 0)
    shape = [1 if k in chosen else n for k, n in enumerate(x.shape) if keep or k not in chosen]
    filled = Known.of(
        np.full(shape, value, np.float64 if t.is_float else np.int64 if t.is_signed else np.uint64)
    )
    return node.run.tensor(filled).astype(t.name)


@converter("ArgMax", "ArgMin")
def _place(node: Node, x: Any) -> Any:
    axis, keep = node.axis(node.attr("axis", 0), x.ndim), bool(node.attr("keepdims", 1))
    name = "argmax" if node.op == "ArgMax" else "argmin"
    if not node.attr("select_last_index", 0):
        return getattr(x, name)(axis=axis, keepdims=keep)
    back = getattr(ops.flip(x, axis=axis), name)(axis=axis, keepdims=keep)
    return each("last", f"{x.shape[axis] - 1} - {{0}}", back, result=I64)


@converter("CumSum", "CumProd", known=(1,))
def _running(node: Node, x: Any, axis: Any) -> Any:
    at = node.axis(int(node.one(1)), x.ndim)
    back, one, word = node.attr("reverse", 0), node.attr("exclusive", 0), "+" if node.op == "CumSum" else "*"
    step = "+ 1" if back else "- 1"
    element = f"X[*a, i {step}, *b | {'0' if word == '+' else '1'}]" if one else "X[*a, i, *b]"
    op = texts(
        f"op running<T: num>(X: T[*A:axis, N, *B]; axis = 0) -> Y: T[*A, N, *B] {{ Y[*a, i, *b] = Y[*a, i "
        f"{step}, *b | "
        f"{'0' if word == '+' else '1'}] {word} {element} }}"
    )
    return op(x, axis=at)
