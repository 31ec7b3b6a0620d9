"""Writes at places that are computed, lie outside, or meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from texpr.ir.dtypes import BOOL, I64
from texpr.ir.interpreter.arithmetic import compute_dtype
from texpr.onnx.writing.element_reads import Reader
from texpr.onnx.writing.graph import Graph, Value, known
from texpr.onnx.writing.scalar_nodes import Scalars


def scattered(
    graph: Graph,
    before: Value | None,
    shape: tuple[int, ...],
    value: Value,
    places: Sequence[Value],
    mode: str,
    mask: Value | None,
    extents: Sequence[int],
    update: str | None,
) -> Value:
    """A tensor with values written at places.

    One more element takes what is dropped; places are numbers of elements in row-major order,
    behind axes that are written whole.

    Args:
        before: what was there; None for nothing that anybody reads.
        mode: that of the guard, or empty.
        mask: which instances write; None for all.
        extents: of the instances.
        update: how a value is folded into what is there; None replaces it.
    """
    s, t, own = Scalars(graph), value.dtype, _own_axes(places, shape, extents)
    head, size = shape[: len(own)], prod(shape[len(own) :])
    place = _numbers(graph, s, places[len(own) :], shape[len(own) :], mode, mask, len(extents))
    old = before or known(np.zeros(shape, compute_dtype(t)), t)
    extra = graph.expand(known(np.zeros((1,) * (len(head) + 1), compute_dtype(t)), t), (*head, 1))
    data = graph.add(
        "Concat", [graph.reshape(old, (*head, size)), extra], (*head, size + 1), t, axis=len(head)
    )
    order = [*own, *(a for a in range(len(extents)) if a not in own)]
    count = (*head, prod(n for a, n in enumerate(extents) if a not in own))
    indices, updates = (
        graph.reshape(graph.transpose(graph.expand(v, extents), order), count) for v in (place, value)
    )
    found = graph.add(
        "ScatterElements",
        [data, indices, updates],
        (*head, size + 1),
        t,
        axis=len(head),
        reduction=update or "none",
    )
    kept = graph.add("Slice", [found, *(graph.integers(n) for n in (0, -1, len(head)))], (*head, size), t)
    return graph.reshape(kept, shape)


def _own_axes(places: Sequence[Value], shape: Sequence[int], extents: Sequence[int]) -> list[int]:
    """The instances' axes for the first axes of the tensor, while each has one for itself and every
    instance its own place on it.

    They stay axes, and may be of named dimensions.
    """
    found: list[int] = []
    used = [[a for a, n in enumerate(p.shape) if n != 1] for p in places]
    for k, (p, axes) in enumerate(zip(places, used)):
        alone = len(axes) == 1 and not any(axes[0] in other for j, other in enumerate(used) if j != k)
        if (
            not alone
            or p.array is None
            or extents[axes[0]] != shape[k]
            or not np.array_equal(p.array.ravel(), np.arange(shape[k]))
        ):
            break
        found.append(axes[0])
    return found if len(found) < len(places) else found[:-1]


def _numbers(
    graph: Graph,
    s: Scalars,
    places: Sequence[Value],
    shape: tuple[int, ...],
    mode: str,
    mask: Value | None,
    rank: int,
) -> Value:
    """Numbers of elements; the one behind the last takes what is dropped."""
    reader, dropped = Reader(graph, s), None if mask is None else s.apply("Not", mask)
    offsets = []
    for k, (i, n) in enumerate(zip(places, shape)):
        if mode:
            i, far = reader.inside(i, n, mode)
            if far is not None and mode == "drop":
                dropped = far if dropped is None else s.apply("Or", dropped, far, dtype=BOOL)
        offsets.append(s.apply("Mul", i, s.number(prod(shape[k + 1 :]), i)))
    place = reduce(lambda a, b: s.apply("Add", a, b), offsets, known(np.zeros((1,) * rank, np.int64), I64))
    return place if dropped is None else s.apply("Where", dropped, s.number(prod(shape), place), place)
