"""Tensors that several equations define part by part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from texpr.ir.interpreter.arithmetic import compute_dtype
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.support.frozen_dataclass import frozen


@frozen
class Piece:
    """A box of a tensor.

    Attributes:
        starts: its first element along each axis.
    """

    starts: tuple[int, ...]
    value: Value

    @staticmethod
    def of(graph: Graph, value: Value, places: Sequence[np.ndarray], extents: Sequence[int]) -> Piece | None:
        """The instances of an equation at these places of its target, one array for each axis of
        it; None for places that are no box.
        """
        axes, starts = [], []
        for p in places:
            found = [a for a, n in enumerate(p.shape) if n != 1]
            flat = p.ravel()
            if len(found) > 1 or flat.size and not np.array_equal(flat, flat[0] + np.arange(flat.size)):
                return None
            axes.append(found[0] if found else None)
            starts.append(int(flat[0]) if flat.size else 0)
        used = [a for a in axes if a is not None]
        if len(set(used)) < len(used):
            return None
        value = graph.expand(value, [n if a in used else value.shape[a] for a, n in enumerate(extents)])
        rest = [a for a in range(len(extents)) if a not in used]
        value = graph.reshape(graph.transpose(value, [*used, *rest]), [p.size for p in places])
        return Piece(tuple(starts), value)


def joined(graph: Graph, pieces: Sequence[Piece], shape: tuple[int, ...]) -> Value:
    """The tensor that pieces make together.

    Raises:
        Inexpressible: they overlap, leave gaps, or lie beside each other along several axes.
    """
    full = [p for p in pieces if p.value.shape == shape]
    if len(pieces) == 1 and full:
        return pieces[0].value
    if 0 in shape:
        t = pieces[0].value.dtype
        return known(np.zeros(shape, compute_dtype(t)), t)
    pieces = [p for p in pieces if p.value.size]
    along = [k for k in range(len(shape)) if any(p.value.shape[k] != shape[k] for p in pieces)]
    if len(along) != 1:
        raise Inexpressible("a tensor whose parts are not beside each other along one axis")
    k = along[0]
    ordered = sorted(pieces, key=lambda p: p.starts[k])
    ends = [0, *(p.starts[k] + p.value.shape[k] for p in ordered)]
    if [p.starts[k] for p in ordered] != ends[:-1] or ends[-1] != shape[k]:
        raise Inexpressible("a tensor whose parts overlap or leave gaps")
    return graph.add("Concat", [p.value for p in ordered], shape, ordered[0].value.dtype, axis=k)
