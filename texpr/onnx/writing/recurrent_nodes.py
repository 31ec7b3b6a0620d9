"""Recurrences that were read from a node of ONNX, as that node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.dtypes import I32
from texpr.onnx.operator_definitions import StandsFor
from texpr.onnx.writing.graph import Graph, Value, known

_INPUTS = ("X", "W", "R", "b", "steps", "h0", "c0", "p")
"""By the operator's names, in ONNX's order."""


def recurrence(
    graph: Graph, node: StandsFor, inputs: Mapping[str, Value], shapes: Sequence[Sequence[int]]
) -> list[Value]:
    """The results of a node with one direction; weights of two directions are cut apart."""
    second = node.attributes.get("direction") == "reverse"

    def given(name: str) -> Value | None:
        v = inputs.get(name)
        if v is None or name == "X":
            return v
        if name == "steps":
            return graph.cast(v, I32)
        return v if v.shape[0] == 1 else _part(graph, v, int(second))

    t = inputs["X"].dtype
    return graph.several(
        node.op, [given(n) for n in _INPUTS], [(tuple(s), t) for s in shapes], **node.attributes
    )


def _part(graph: Graph, v: Value, k: int) -> Value:
    """Element k of the first axis, which stays."""
    if v.array is not None:
        return known(v.array[k : k + 1], v.dtype)
    ends = [graph.integers(n) for n in (k, k + 1, 0)]
    return graph.add("Slice", [v, *ends], (1, *v.shape[1:]), v.dtype)
