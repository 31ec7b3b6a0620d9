"""Writes at places that are computed, lie outside, or meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from texpr.ir.arithmetic import compute_dtype
from texpr.ir.dtypes import BOOL, I64
from texpr.onnx.writing.graph import Graph, Value, known
from texpr.onnx.writing.reads import Reader
from texpr.onnx.writing.scalars import Scalars


def scattered(graph: Graph, before: Value | None, shape: tuple[int, ...], value: Value, places: Sequence[Value], mode: str,
              mask: Value | None, extents: Sequence[int], update: str | None) -> Value:
    """A tensor with values written at places.

    One more element takes what is dropped; places are numbers of elements in row-major order.

    Args:
        before: what was there; None for nothing that anybody reads.
        mode: that of the guard, or empty.
        mask: which instances write; None for all.
        extents: of the instances.
        update: how a value is folded into what is there; None replaces it.
    """
    s, size, t = Scalars(graph), prod(shape), value.dtype
    reader = Reader(graph, s)
    dropped = None if mask is None else s.apply("Not", mask)
    offsets = []
    for k, (i, n) in enumerate(zip(places, shape)):
        if mode:
            i, far = reader.inside(i, n, mode)
            if far is not None and mode == "drop":
                dropped = far if dropped is None else s.apply("Or", dropped, far, dtype=BOOL)
        offsets.append(s.apply("Mul", i, s.number(prod(shape[k + 1:]), i)))
    place = reduce(lambda a, b: s.apply("Add", a, b), offsets, known(np.zeros((1,) * len(extents), np.int64), I64))
    if dropped is not None:
        place = s.apply("Where", dropped, s.number(size, place), place)
    old = before or known(np.zeros(shape, compute_dtype(t)), t)
    extra = known(np.zeros(1, compute_dtype(t)), t)
    data = graph.add("Concat", [graph.reshape(old, (size,)), extra], (size + 1,), t, axis=0)
    count = (prod(extents),)
    indices, updates = (graph.reshape(graph.expand(v, extents), count) for v in (place, value))
    found = graph.add("ScatterElements", [data, indices, updates], (size + 1,), t, axis=0, reduction=update or "none")
    kept = graph.add("Slice", [found, *(graph.integers(n) for n in (0, -1))], (size,), t)
    return graph.reshape(kept, shape)
