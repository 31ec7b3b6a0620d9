"""Operators of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

from texpr.ir.dtypes import F64, I64
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import axes, each, number
from texpr.onnx.operators.movement import check_places, taken


@converter("Binarizer", domain="ai.onnx.ml")
def _binarize(node: Node, x: Any) -> Any:
    text, t = f"if {{0}} > {number(node.attr('threshold', 0.0))} then 1 else 0", x.dtype
    return each("binarizer", text, x, computed=t if t.is_float else F64).astype(t.name)


@converter("ArrayFeatureExtractor", domain="ai.onnx.ml")
def _features(node: Node, x: Any, places: Any) -> Any:
    check_places(node, 1, 0, x.shape[-1])
    rows = x if x.ndim > 1 else x.reshape(1, -1)
    result = [*rows.shape[:-1], places.size]
    names = axes("i", len(result))
    return taken(
        "features", rows, places.reshape(-1).astype(I64.name), result, [*names[:-1], f"P[{names[-1]}]"]
    )
