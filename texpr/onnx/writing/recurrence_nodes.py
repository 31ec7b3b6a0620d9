"""Equations that need themselves or each other, as ONNX's Loop: the order that `poly.order_of` finds
is that of its iterations. The tensors go from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from texpr import poly
from texpr.ir.dtypes import BOOL, I64, U64
from texpr.ir.expr import Tensor
from texpr.ir.interpreter.arithmetic import compute_dtype
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Equation, Program
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.onnx.writing.loop_equations import boxes_of, interval
from texpr.onnx.writing.piecewise import Piece, joined
from texpr.onnx.writing.scalar_nodes import Scalars
from texpr.onnx.writing.scatter import scattered


def order_in_loops(program: Program, group: Sequence[int]) -> tuple[poly.Order, ...]:
    """Loops in which the equations of a group are computed.

    Raises:
        Inexpressible: none are found.
    """
    order = poly.order_of(program, group)
    if order is None:
        raise Inexpressible("a recurrence without an order of loops")
    return order


def span_of(program: Program, loop: poly.Loop) -> tuple[int, int]:
    """The first time of a loop, and the one behind its last."""
    found = []
    for k, time in loop.times.items():
        equation = program.equations[k]
        assert isinstance(equation, Equation)
        times = interval(time.expr(), boxes_of(equation))
        found += [] if times is None else [times]
    return (min(a for a, _ in found), max(b for _, b in found) + 1) if found else (0, 0)


def begun(graph: Graph, pieces: Sequence[Piece], target: Tensor) -> Value:
    """A tensor before its recurrence: what other equations define, and zeros."""
    shape, t = tuple(evaluate_size(e, {}) for e in target.shape), target.dtype
    nothing = graph.expand(known(np.zeros((1,) * len(shape), compute_dtype(t)), t), shape)
    if not pieces:
        return nothing
    try:
        return joined(graph, [*pieces, *_gaps(graph, pieces, shape)], shape)
    except Inexpressible:
        found = nothing
        for p in pieces:
            places = [
                known((np.arange(n) + first).reshape([-1 if j == k else 1 for j in range(len(shape))]), I64)
                for k, (n, first) in enumerate(zip(p.value.shape, p.starts))
            ]
            found = scattered(graph, found, shape, p.value, places, "", None, p.value.shape, None)
        return found


def _gaps(graph: Graph, pieces: Sequence[Piece], shape: tuple[int, ...]) -> list[Piece]:
    """Zeros between and behind pieces that lie along one axis."""
    along = [k for k in range(len(shape)) if any(p.value.shape[k] != shape[k] for p in pieces)]
    if len(along) != 1:
        return []
    k, t, found, end = along[0], pieces[0].value.dtype, [], 0
    ordered = sorted((p.starts[k], p.value.shape[k]) for p in pieces)
    for start, count in (*ordered, (shape[k], 0)):
        if start > end:
            extents = (*shape[:k], start - end, *shape[k + 1 :])
            at = tuple(end if j == k else 0 for j in range(len(shape)))
            nothing = known(np.zeros((1,) * len(shape), compute_dtype(t)), t)
            found.append(Piece(at, graph.expand(nothing, extents)))
        end = start + count
    return found


def row_written(
    s: Scalars, before: Value, value: Value, places: Sequence[Value], mask: Value | None
) -> Value | None:
    """A tensor with one row written, at a place along one axis that the iteration gives; None for
    places of another kind.
    """
    moved = [k for k, p in enumerate(places) if p.array is None]
    rank = max((len(p.shape) for p in places), default=0)
    if len(moved) != 1 or places[moved[0]].size != 1 or value.dtype == U64:
        return None
    k, own = moved[0], _own_axes(before, places, moved[0])
    if own is None or any(n != 1 and a not in own for v in (value, mask) if v for a, n in enumerate(v.shape)):
        return None
    graph, whole = s.graph, [1 if j == k else n for j, n in enumerate(before.shape)]
    sizes = dict(zip(own, (n for n in whole if n != 1)))

    def row(v: Value) -> Value:
        return graph.reshape(graph.expand(v, [sizes.get(a, 1) for a in range(rank)]), whole)

    numbers = np.arange(before.shape[k], dtype=np.int64)
    at = known(numbers.reshape([-1 if j == k else 1 for j in range(len(whole))]), I64)
    here = s.apply("Equal", at, graph.reshape(places[k], (1,) * len(whole)), dtype=BOOL)
    if mask is not None:
        here = s.apply("And", here, row(mask), dtype=BOOL)
    return s.choose(here, row(value), before)


def _own_axes(before: Value, places: Sequence[Value], k: int) -> list[int] | None:
    """The instances' axes that are the other axes of a tensor, in their order and whole; None where
    they are not.
    """
    found: list[int] = []
    for j, p in enumerate(places):
        if j == k:
            continue
        own = [a for a, n in enumerate(p.shape) if n != 1]
        if p.array is None or len(own) > 1 or not np.array_equal(p.array.ravel(), np.arange(before.shape[j])):
            return None
        found += own
    return found if found == sorted(set(found)) else None
