"""Functions of the standard that move and choose elements, and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph.array_api.data_types import operands
from texpr.graph.arrays import array_functions, joins_and_splits, rearranging, statistics, sums_of_products
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


class AxisError(CallError, IndexError):
    """An axis that a tensor does not have, or that is not of extent 1."""


def axis_within(axis: int, rank: int) -> int:
    """An axis counted from the start.

    Raises:
        AxisError: there is none.
    """
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} of a tensor with {rank} axes", code="axis")
    return axis % rank


def answered(found: Any, what: str) -> Any:
    """A result, unless there is no operator for the arguments.

    Raises:
        AxisError: there is none.
    """
    if found is NotImplemented:
        raise AxisError(f"{what}: the axes or shapes do not fit", code="axis")
    return found


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Tensors repeated to the shape that they have together.

    Example:
        >>> xp = tx.array_api
        >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
        [(2, 3), (2, 3)]
    """
    return list(rearranging.broadcast_arrays(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A tensor repeated to a shape.

    Example:
        >>> xp = tx.array_api
        >>> xp.broadcast_to(xp.ones(3), (2, 3)).shape
        (2, 3)
    """
    return x.broadcast_to(tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Tensors one behind the other along an axis; None flattens them first.

    Example:
        >>> xp = tx.array_api
        >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])])
        tensor([1, 2, 3], i64[3])
    """
    operands(*arrays)
    return joins_and_splits.concatenate(list(arrays), axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis.

    Example:
        >>> xp = tx.array_api
        >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1).tolist()
        [[1, 3], [2, 4]]
    """
    operands(*arrays)
    return joins_and_splits.stack(list(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts at each place of an axis.

    Example:
        >>> xp = tx.array_api
        >>> [row.tolist() for row in xp.unstack(xp.asarray([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    return answered(joins_and_splits.unstack(x, axis=axis), "unstack")


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """With an axis of extent 1 more.

    Raises:
        AxisError: the result has no such axis.
    Example:
        >>> xp = tx.array_api
        >>> xp.expand_dims(xp.ones(3), axis=0).shape
        (1, 3)
    """
    return x.expand_dims(axis_within(axis, len(x.shape) + 1))


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without axes of extent 1.

    Raises:
        AxisError: an axis of another extent.
    Example:
        >>> xp = tx.array_api
        >>> xp.squeeze(xp.ones((1, 3)), 0).shape
        (3,)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    gone = tuple(axis_within(k, len(x.shape)) for k in axes)
    if any(x.shape[k] != 1 for k in gone):
        raise AxisError(f"axes {list(gone)} of {list(x.shape)} are not all of extent 1", code="axis")
    return x.squeeze(gone) if gone else array_functions.itself(x)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Axes in the opposite order: these, or all.

    Example:
        >>> xp = tx.array_api
        >>> xp.flip(xp.asarray([1, 2])).tolist()
        [2, 1]
    """
    return rearranging.flip(x, axis)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places, the others in their order.

    Example:
        >>> xp = tx.array_api
        >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    return answered(rearranging.moveaxis(x, source, destination), "moveaxis")


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Axis k of the result is axis `axes[k]`.

    Example:
        >>> xp = tx.array_api
        >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
        (3, 2)
    """
    return x.transpose(tuple(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged.

    Example:
        >>> xp = tx.array_api
        >>> xp.matrix_transpose(xp.ones((2, 3, 4))).shape
        (2, 4, 3)
    """
    return answered(rearranging.matrix_transpose(x), "matrix_transpose")


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times. A tensor of numbers of repetitions is computed now.

    Example:
        >>> xp = tx.array_api
        >>> xp.repeat(xp.asarray([1, 2]), 2).tolist()
        [1, 1, 2, 2]
    """
    return answered(rearranging.repeat(x, repeats, axis), "repeat")


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The whole tensor several times along each axis.

    Example:
        >>> xp = tx.array_api
        >>> xp.tile(xp.asarray([1, 2]), (2,)).tolist()
        [1, 2, 1, 2]
    """
    return answered(rearranging.tile(x, repetitions), "tile")


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The same elements in the order of memory in another shape; one extent may be -1.

    Args:
        copy: accepted; tensors are values of their own, whichever memory they have.
    Example:
        >>> xp = tx.array_api
        >>> xp.reshape(xp.arange(4), (2, -1)).shape
        (2, 2)
    """
    del copy
    return x.reshape(tuple(shape) if not isinstance(shape, int) else shape)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved along axes, those that leave coming back at the other end.

    Example:
        >>> xp = tx.array_api
        >>> xp.roll(xp.asarray([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    if isinstance(shift, tuple) and axis is not None and not isinstance(axis, tuple):
        shift = sum(shift)
    return answered(rearranging.roll(x, shift, axis), "roll")


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The parts at places of an axis.

    Example:
        >>> xp = tx.array_api
        >>> xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0])).tolist()
        [7, 5]
    """
    if axis is None and len(x.shape) != 1:
        raise AxisError(f"take of {len(x.shape)} axes without `axis`", code="axis")
    return answered(rearranging.take(x, indices, 0 if axis is None else axis), "take")


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each place of the result an element along an axis.

    Example:
        >>> xp = tx.array_api
        >>> xp.take_along_axis(xp.asarray([[5, 6]]), xp.asarray([[1, 0]])).tolist()
        [[6, 5]]
    """
    return answered(rearranging.take_along_axis(x, indices, axis), "take_along_axis")


# Products of matrices


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Rows by columns of the last two axes, leading ones broadcast.

    Example:
        >>> xp = tx.array_api
        >>> xp.matmul(xp.ones((2, 3)), xp.ones(3)).tolist()
        [3.0, 3.0]
    """
    return array_functions.matmul(*operands(x1, x2))


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over pairs of axes.

    Example:
        >>> xp = tx.array_api
        >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 2)), axes=1).shape
        (2, 2)
    """
    left, right = operands(x1, x2)
    return answered(sums_of_products.tensordot(left, right, axes), "tensordot")


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis that both have.

    Example:
        >>> xp = tx.array_api
        >>> xp.vecdot(xp.ones((2, 3)), xp.ones(3)).tolist()
        [3.0, 3.0]
    """
    left, right = operands(x1, x2)
    return answered(sums_of_products.vecdot(left, right, axis=axis), "vecdot")


# Orders, places, sets


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis. Every order is stable; NaN counts as the largest.

    Example:
        >>> xp = tx.array_api
        >>> xp.sort(xp.asarray([3, 1, 2])).tolist()
        [1, 2, 3]
    """
    del stable
    return x.sort(axis, descending)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The places of the elements in order along an axis. Every order is stable.

    Example:
        >>> xp = tx.array_api
        >>> xp.argsort(xp.asarray([3, 1, 2])).tolist()
        [1, 2, 0]
    """
    del stable
    return x.argsort(axis, descending)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """The places of values in an ordered vector.

    Example:
        >>> xp = tx.array_api
        >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3])).tolist()
        [1]
    """
    left, right = operands(x1, x2)
    return answered(statistics.searchsorted(left, right, side, sorter), "searchsorted")


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of elements that are not 0, an array for each axis: computed now.

    Example:
        >>> xp = tx.array_api
        >>> [p.tolist() for p in xp.nonzero(xp.asarray([0, 5, 6]))]
        [[1, 2]]
    """
    from texpr.graph.lazy.making import tensor

    if not x.shape:
        raise AxisError("nonzero of a single number", code="axis", help="x.reshape(1)")
    return tuple(tensor(p) for p in np.nonzero((x != 0 if x.dtype != BOOL else x).numpy()))
