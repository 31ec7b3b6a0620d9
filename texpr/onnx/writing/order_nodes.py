"""Orders along the last axis, which are functions of the runtime in texpr, by `TopK`. Equal elements
keep their order, and NaN counts as larger than all numbers, in ONNX's reference and in ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from texpr.ir.dtypes import BOOL, F32, F64, I32, I64, U64
from texpr.ir.interpreter.arithmetic import compute_dtype
from texpr.onnx.writing.graph import Graph, Value, known
from texpr.onnx.writing.reduction_nodes import Reducer
from texpr.onnx.writing.scalar_nodes import Scalars

_LOWEST = -(1 << 63)


def ordered(graph: Graph, x: Value, count: Value | None, size: int, largest: bool) -> tuple[Value, Value]:
    """The first `size` elements of each row in decreasing or increasing order, and their places.

    Args:
        count: `size` as an input; None for whole rows.
    """
    shape = (*x.shape[:-1], size)
    if 0 in shape:
        nothing = np.zeros(shape, compute_dtype(x.dtype))
        return known(nothing, x.dtype), known(np.zeros(shape, np.int64), I64)
    key = _comparable(graph, x)
    number = graph.extents((size,)) if count is None else count
    values, places = graph.several(
        "TopK", [key, number], [(shape, key.dtype), (shape, I64)], axis=-1, largest=int(largest)
    )
    return _as_before(graph, values, x), places


def _comparable(graph: Graph, x: Value) -> Value:
    """As a type that runtimes sort, in the same order."""
    t = x.dtype
    if t in (F32, F64, I32, I64):
        return x
    if t == U64:
        s = Scalars(graph)
        return s.apply("Add", graph.cast(x, I64), s.number(_LOWEST, known(np.zeros(()), I64)))
    return graph.cast(x, F32 if t.is_float else I32 if t.bits < 32 else I64)


def _as_before(graph: Graph, values: Value, x: Value) -> Value:
    if x.dtype == U64:
        s = Scalars(graph)
        values = s.apply("Add", values, s.number(_LOWEST, values))
    return graph.cast(values, x.dtype)


def _places(graph: Graph, args: Sequence[Value], largest: bool, k: int | None = None) -> Value:
    (x,) = args
    return ordered(graph, x, None, x.shape[-1] if k is None else k, largest)[1]


def _searched(graph: Graph, args: Sequence[Value], right: bool) -> Value:
    """The number of elements of a row that are less than each value, or not above it."""
    s, (row, values) = Scalars(graph), [_comparable(graph, v) for v in args]
    row = graph.reshape(row, (1, row.size))
    column = graph.reshape(values, (values.size, 1))
    before = s.apply("LessOrEqual" if right else "Less", row, column, dtype=BOOL)
    if row.dtype.is_float:  # NaN is above all numbers
        at_end = s.apply("IsNaN", column, dtype=BOOL)
        if not right:
            at_end = s.apply("And", at_end, s.apply("Not", s.apply("IsNaN", row, dtype=BOOL)), dtype=BOOL)
        before = s.apply("Or", before, at_end, dtype=BOOL)
    return Reducer(graph, s).over("sum", graph.cast(before, I64), [1])


ORDERS: Mapping[str, Callable[..., Value]] = {
    "argsort_rows": partial(_places, largest=False),
    "argsort_rows_down": partial(_places, largest=True),
    "top_rows": partial(_places, largest=True),
    "search_row": partial(_searched, right=False),
    "search_row_right": partial(_searched, right=True),
}
"""By the name of the `extern op` in the library."""
