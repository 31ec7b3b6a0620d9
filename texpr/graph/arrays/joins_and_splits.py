"""NumPy's functions that join arrays and split them, called on tensors.

Arguments for which a function has no operator give NotImplemented: NumPy's own is called then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.array_functions import operand
from texpr.graph.arrays.numpy_operands import alike, at_axis, tensor_of

# Joins


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """`np.concatenate`."""
    given = alike(arrays)
    if axis is None:
        given, axis = [a.reshape(-1) for a in given], 0
    return _joined(ops.concat, given, axis, len(given[0].shape))


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """`np.stack`."""
    if axis is None:
        return NotImplemented
    given = alike(arrays)
    return _joined(ops.stack, given, axis, len(given[0].shape) + 1)


def _joined(operator: Callable[..., Any], given: list[Any], axis: int, rank: int) -> Any:
    (place,) = array_functions.axes_of(axis, rank)
    return (
        operator(given, axis=place)
        if len(given) > 1 or operator is ops.stack
        else array_functions.itself(given[0])
    )


def vstack(tup: Sequence[Any]) -> Any:
    """`np.vstack`."""
    return concatenate([a.reshape(1, -1) if len(a.shape) < 2 else a for a in alike(tup)])


def hstack(tup: Sequence[Any]) -> Any:
    """`np.hstack`."""
    given = [a.reshape(-1) if not a.shape else a for a in alike(tup)]
    return concatenate(given, 0 if len(given[0].shape) == 1 else 1)


def dstack(tup: Sequence[Any]) -> Any:
    """`np.dstack`."""
    return concatenate([_atleast(a, 3) for a in alike(tup)], 2)


def column_stack(tup: Sequence[Any]) -> Any:
    """`np.column_stack`."""
    return concatenate([a.reshape(-1, 1) if len(a.shape) < 2 else a for a in alike(tup)], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`np.append`."""
    return concatenate([arr, values], axis)


def _atleast(x: Any, rank: int) -> Any:
    """With at least so many axes: a row has new ones around it, as NumPy has it."""
    have = len(x.shape)
    if have >= rank:
        return x
    shapes = {0: (1,) * rank, 1: (1, *x.shape, 1)[: rank if rank > 1 else 1], 2: (*x.shape, 1)}
    return x.reshape(shapes[have] if have != 1 or rank > 1 else x.shape)


def atleast(rank: int) -> Callable[..., Any]:
    """`np.atleast_1d` and its kin."""

    def of_arrays(*arys: Any) -> Any:
        found = tuple(array_functions.itself(_atleast(tensor_of(a), rank)) for a in arys)
        return found[0] if len(found) == 1 else found

    return of_arrays


# Splits


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.array_split`: parts that differ by one element at most, or that begin at places."""
    x = operand(ary)
    (k,) = array_functions.axes_of(axis, len(x.shape))
    n = x.shape[k]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count < 1:
            return NotImplemented
        each, more = divmod(n, count)
        cuts = [0]
        for part in range(count):
            cuts.append(cuts[-1] + each + (part < more))
        return [at_axis(x, k, slice(a, b)) for a, b in zip(cuts, cuts[1:])]
    cuts = [0, *(int(c) for c in indices_or_sections)]
    ends: list[int | None] = [*cuts[1:], None]
    return [at_axis(x, k, slice(a, b)) for a, b in zip(cuts, ends)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.split`: parts of one size, or that begin at places."""
    x = operand(ary)
    (k,) = array_functions.axes_of(axis, len(x.shape))
    if isinstance(indices_or_sections, int | np.integer) and (
        indices_or_sections < 1 or x.shape[k] % indices_or_sections
    ):
        return NotImplemented
    return array_split(x, indices_or_sections, k)


def split_along(name: str, least: int) -> Callable[..., Any]:
    """`np.hsplit`, `np.vsplit` and `np.dsplit`."""

    def of_array(ary: Any, indices_or_sections: Any) -> Any:
        rank = len(operand(ary).shape)
        if rank < least:
            return NotImplemented
        axis = {"h": 0 if rank == 1 else 1, "v": 0, "d": 2}[name]
        return split(ary, indices_or_sections, axis)

    return of_array


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """`np.unstack`: the parts at each place of an axis."""
    v = operand(x)
    if not v.shape:
        return NotImplemented
    return v.unbind(axis)


JOINS_AND_SPLITS: dict[str, Callable[..., Any]] = {
    "concatenate": concatenate,
    "stack": stack,
    "vstack": vstack,
    "hstack": hstack,
    "dstack": dstack,
    "column_stack": column_stack,
    "append": append,
    "atleast_1d": atleast(1),
    "atleast_2d": atleast(2),
    "atleast_3d": atleast(3),
    "array_split": array_split,
    "split": split,
    "hsplit": split_along("h", 1),
    "vsplit": split_along("v", 2),
    "dsplit": split_along("d", 3),
    "unstack": unstack,
}
"""Functions that join and split, by their names in NumPy."""
