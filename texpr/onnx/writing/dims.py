"""Dimensions that keep a name: a program is captured twice, and what differs between its graphs
is computed from shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from texpr.ir.dtypes import I64
from texpr.onnx.values import Known
from texpr.onnx.writing.graph import Graph, Value, Written
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


@frozen
class Named:
    """A dimension.

    Attributes:
        places: inputs and axes that have it.
        extent, other: in the graph and in one that was captured to see what depends on it.
    """

    name: str
    places: tuple[tuple[str, int], ...]
    extent: int
    other: int


def find_named(shapes: Mapping[str, Sequence[int]], dims: Mapping[str, Mapping[int, str]]) -> list[Named]:
    """The named dimensions of inputs, each once.

    Raises:
        CallError: inputs or axes that are not there, and one name for different extents.
    """
    well = isinstance(dims, Mapping) and all(isinstance(axes, Mapping) for axes in dims.values())
    if not well or any(
        type(a) is not int or not isinstance(n, str) or not n
        for axes in dims.values()
        for a, n in axes.items()
    ):
        raise CallError(
            "dims says names of dimensions by input and axis",
            code="arguments",
            help='for example {"x": {0: "batch"}}',
        )
    places: dict[str, list[tuple[str, int]]] = {}
    for name, axes in dims.items():
        if name not in shapes:
            raise CallError(
                f"dims names an input `{name}`, which the program does not have",
                code="arguments",
                help=f"its inputs: {', '.join(shapes)}",
            )
        for axis, dim in axes.items():
            if not -len(shapes[name]) <= axis < len(shapes[name]):
                raise CallError(
                    f"dims names axis {axis} of `{name}`, which has {len(shapes[name])}", code="arguments"
                )
            places.setdefault(dim, []).append((name, axis % len(shapes[name])))
    found = []
    for dim, where in places.items():
        extents = {shapes[name][axis] for name, axis in where}
        if len(extents) > 1:
            raise CallError(f"the dimension {dim} has extents {sorted(extents)} in the example", code="shape")
        # Of one element it would not be seen where it is repeated.
        extent = max(extents.pop(), 2)
        found.append(Named(dim, tuple(where), extent, extent + 1))
    return found


def named_shape(
    shape: Sequence[int], others: Sequence[Sequence[int]], dims: Sequence[Named]
) -> list[int | str | None]:
    """A shape with names; None where an extent is computed from named ones.

    Args:
        others: for each dimension the shape where it alone has its other extent.
    """
    found: list[int | str | None] = []
    for k, n in enumerate(shape):
        moved = [d for d, other in zip(dims, others) if other[k] != n]
        same = len(moved) == 1 and n == moved[0].extent and others[dims.index(moved[0])][k] == moved[0].other
        found.append(n if not moved else moved[0].name if same else None)
    return found


def name_dims(graph: Graph, others: Sequence[Graph], dims: Sequence[Named]) -> None:
    """Lists of extents that depend on named dimensions are computed by nodes at the beginning of
    the graph.

    Args:
        others: a graph for each dimension, in which this one alone has its other extent.
    Raises:
        CallError: the program depends on a dimension in another way.
    """
    made = Graph(())
    made._used = graph._used
    for dim, other in zip(dims, others):
        _check_same(graph, other, dim)
    reshapes = {n.inputs[1] for n in graph.nodes if n.op == "Reshape"}
    for name in sorted(graph.sizes):
        here, there = graph.initializers[name].array, [o.initializers[name].array for o in others]
        moved = [k for k, n in enumerate(here) if any(t[k] != n for t in there)]
        if not moved:
            continue
        if len(moved) == 1 and name in reshapes and here.all():  # the one that the others leave
            graph.initializers[name] = Known(np.where(np.arange(len(here)) == moved[0], -1, here), I64)
            continue
        parts = [_entry(made, int(n), [int(t[k]) for t in there], dims) for k, n in enumerate(here)]
        del graph.initializers[name]
        names = tuple(made.reference(p) for p in parts)
        made.nodes.append(Written("Concat", names, (name,), {"axis": 0}, ((len(parts),),)))
    graph.nodes = made.nodes + graph.nodes
    graph.initializers |= made.initializers


def _entry(made: Graph, here: int, there: Sequence[int], dims: Sequence[Named]) -> Value:
    """One extent, as a list of one element."""
    moved = [(d, n) for d, n in zip(dims, there) if n != here]
    if not moved:
        return made.integers(here)
    factor = here
    for d, n in moved:
        if factor % d.extent or here // d.extent * d.other != n:
            raise _depends(d, f"an extent is {here}, and {n} where it is {d.other} instead of {d.extent}")
        factor //= d.extent
    value: Value | None = made.integers(factor) if factor != 1 else None
    for d, _ in moved:
        name, axis = d.places[0]
        size = made.add("Shape", [Value(name, (), I64)], (1,), I64, start=axis, end=axis + 1)
        value = size if value is None else made.add("Mul", [value, size], (1,), I64)
    assert value is not None
    return value


def _check_same(graph: Graph, other: Graph, dim: Named) -> None:
    """Two graphs may differ in lists of extents alone."""
    for a, b in zip(graph.nodes, other.nodes):
        if a.unshaped != b.unshaped:
            raise _depends(dim, f"a node {a.op}")
    if len(graph.nodes) != len(other.nodes):
        raise _depends(dim, f"{len(graph.nodes)} nodes, and {len(other.nodes)}")
    for name, value in graph.initializers.items():
        same = other.initializers.get(name)
        if same is None or name not in graph.sizes and not _equal(value, same):
            raise _depends(dim, f"a constant of shape {list(value.shape)}")


def _equal(a: Known, b: Known) -> bool:
    return a.array is b.array or a == b


def _depends(dim: Named, what: str) -> CallError:
    return CallError(
        f"the program depends on the dimension {dim.name}: {what}",
        code="onnx",
        help=f"leave {dim.name} out of dims, and save a model for each extent",
    )
