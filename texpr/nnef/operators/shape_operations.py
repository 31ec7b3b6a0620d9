"""Operations that make, move, join and take apart tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.graph.arrays.rearranging import tile
from texpr.ir.dtypes import BOOL, I64
from texpr.nnef.graph_values import Known, leaves
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import at, from_end, names, ranges, typed, written

MOST_ELEMENTS = 1 << 28
"""Of a constant that a graph declares by few values."""
_MIRRORS = {"reflect": ops.pad_reflect, "replicate": ops.pad_edge}


@operation("constant", raw=True)
def _constant(about: Operation, shape: Sequence[int], value: Any) -> Known:
    given = list(leaves(value))
    if any(not isinstance(v, bool | int | float) for v in given) or any(
        type(n) is not int or n < 0 for n in shape
    ):
        raise about.refuse("its shape is of integers, its values are numbers")
    count = prod(shape)
    if count > MOST_ELEMENTS:
        raise about.refuse(
            f"{count:,} elements, the limit is {MOST_ELEMENTS:,}", "put them in a file: variable"
        )
    if len(given) not in (1, count):
        raise about.refuse(f"{len(given)} values for a tensor of shape {list(shape)}")
    t = about.evaluation.type_of(about.generic)
    held = np.array(given, dtype=np.float64 if t.is_float else bool if t == BOOL else np.int64)
    return Known.of(
        np.broadcast_to(
            held if len(given) == count else held[0], shape if len(given) != count else (count,)
        ).reshape(shape),
        t,
    )


@operation("update", raw=True)
def _update(about: Operation, variable: Any, value: Any) -> Any:
    owner = next(
        (
            v
            for v, t in about.capture.variables.items()
            if isinstance(variable, Symbolic) and t is variable.tensor
        ),
        None,
    )
    if owner is None:
        raise about.refuse("what is updated is no variable")
    found = about.tensor(value, owner.dtype)
    about.capture.assign(owner, found)
    return found


@operation("cast")
def _cast(about: Operation, input: Any) -> Any:  # noqa: A002
    t = about.evaluation.type_of(about.generic)
    return input.astype(t.name) if input.dtype != t else input


@operation("reshape")
def _reshape(about: Operation, input: Any, shape: Sequence[int], axis_start: int, axis_count: int) -> Any:  # noqa: A002
    start = axis_start
    count = input.ndim - start if axis_count == -1 else axis_count
    if not 0 <= start <= start + count <= input.ndim:
        raise about.refuse(f"axes {start} to {start + count} of {input.ndim}")
    old = input.shape[start : start + count]
    inner = [old[k] if n == 0 and k < len(old) else n for k, n in enumerate(shape)]
    if inner.count(-1) > 1 or any(type(n) is not int or n < -1 for n in inner):
        raise about.refuse(f"shape {list(shape)}")
    if -1 in inner:
        rest = -prod(inner)
        inner[inner.index(-1)] = prod(old) // rest if rest else 0
    if prod(inner) != prod(old):
        raise about.refuse(f"{list(old)} has {prod(old):,} elements, {list(shape)} does not fit")
    return input.reshape(tuple([*input.shape[:start], *inner, *input.shape[start + count :]]))


@operation("transpose")
def _transpose(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    if sorted(axes) != list(range(len(axes))) or len(axes) > input.ndim:
        raise about.refuse(f"axes {list(axes)} of {input.ndim}")
    order = [*axes, *range(len(axes), input.ndim)]
    return input.transpose(*order) if order != sorted(order) else input


@operation("squeeze")
def _squeeze(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    chosen = about.axes(axes, input.ndim)
    if any(input.shape[a] != 1 for a in chosen):
        raise about.refuse(f"axes {list(axes)} of {list(input.shape)} are not all 1")
    return input.reshape(tuple(n for k, n in enumerate(input.shape) if k not in chosen))


@operation("unsqueeze")
def _unsqueeze(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    chosen, rest = about.axes(axes, input.ndim + len(axes)), iter(input.shape)
    return input.reshape(tuple(1 if k in chosen else next(rest) for k in range(input.ndim + len(axes))))


@operation("concat")
def _concat(about: Operation, values: list[Any], axis: int) -> Any:
    if not values:
        raise about.refuse("no tensors")
    return values[0] if len(values) == 1 else ops.concat(values, axis=about.axis(axis, values[0].ndim))


@operation("stack")
def _stack(about: Operation, values: list[Any], axis: int) -> Any:
    if not values:
        raise about.refuse("no tensors")
    place = about.axis(axis, values[0].ndim + 1)
    higher = [v.reshape(*v.shape[:place], 1, *v.shape[place:]) for v in values]
    return higher[0] if len(higher) == 1 else ops.concat(higher, axis=place)


@operation("unstack")
def _unstack(about: Operation, value: Any, axis: int) -> Any:
    place = about.axis(axis, value.ndim)
    return [value[(*[slice(None)] * place, k)] for k in range(value.shape[place])]


@operation("split")
def _split(about: Operation, value: Any, axis: int, ratios: Sequence[int]) -> Any:
    place, whole = about.axis(axis, value.ndim), sum(ratios)
    n = value.shape[place]
    if not ratios or any(type(r) is not int or r < 1 for r in ratios) or n % whole:
        raise about.refuse(f"ratios {list(ratios)} of {n} elements")
    ends = np.cumsum([n // whole * r for r in ratios])
    return [
        value[(*[slice(None)] * place, slice(int(e) - n // whole * r, int(e)))] for e, r in zip(ends, ratios)
    ]


@operation("slice")
def _slice(about: Operation, input: Any, axes: Any, begin: Any, end: Any, stride: Any) -> Any:  # noqa: A002
    steps = stride or [1] * len(axes)
    if not len(axes) == len(begin) == len(end) == len(steps) or 0 in steps:
        raise about.refuse("axes, begin, end and stride are of different lengths, or a stride is 0")
    key: list[Any] = [slice(None)] * input.ndim
    for a, first, last, step in zip(axes, begin, end, steps):
        a = about.axis(a, input.ndim)
        n = input.shape[a]
        low, high = (max(first + n, 0) if first < 0 else first), (last + n if last < 0 else last)
        if step > 0:  # an end of 0 is that of the axis
            high = n if last == 0 else min(max(high, 0), n)
            key[a] = slice(min(low, n), max(high, min(low, n)), step)
        else:
            key[a] = slice(min(low, n - 1), None if high < 0 else high, step)
    return input[tuple(key)]


@operation("tile")
def _tile(about: Operation, input: Any, repeats: Sequence[int]) -> Any:  # noqa: A002
    if len(repeats) != input.ndim or any(type(r) is not int or r < 0 for r in repeats):
        raise about.refuse(f"repeats {list(repeats)} of {input.ndim} axes")
    return tile(input, tuple(repeats)) if any(r != 1 for r in repeats) else input


@operation("pad")
def _pad(about: Operation, input: Any, padding: Any, border: str, value: float) -> Any:  # noqa: A002
    if len(padding) > input.ndim:
        raise about.refuse(f"{len(padding)} paddings of {input.ndim} axes")
    return padded(about, input, padding, border, value)


def padded(about: Operation, x: Any, padding: Any, border: str, value: Any = 0) -> Any:
    """A tensor with more elements around it; padding below 0 cuts elements off."""
    about.word("border", border, "constant", "replicate", "reflect", "reflect-even", "ignore")
    for axis, (before, after) in enumerate(padding):
        low, high = max(before, 0), max(after, 0)
        if before < 0 or after < 0:
            n = x.shape[axis]
            if -min(before, 0) - min(after, 0) > n:
                raise about.refuse(f"padding {before, after} of {n} elements")
            x = x[(*[slice(None)] * axis, slice(-min(before, 0), n + min(after, 0)))]
        if not low and not high:
            continue
        if border in ("constant", "ignore"):
            x = ops.pad(x, axis=axis, before=low, after=high, value=value)
        elif border == "reflect-even":
            x = _mirrored(about, x, axis, low, high)
        else:
            x = _MIRRORS[border](x, axis=axis, before=low, after=high)
    return x


def _mirrored(about: Operation, x: Any, axis: int, before: int, after: int) -> Any:
    """With the elements at the edge twice."""
    n = x.shape[axis]
    if before > n or after > n:
        raise about.refuse(f"padding {before, after} of {n} elements by reflection")
    places = np.pad(np.arange(n), (before, after), "symmetric")
    return ops.take(x, about.tensor(Known.of(places)), axis=axis)


@operation("gather")
def _gather(about: Operation, input: Any, indices: Any, axis: int) -> Any:  # noqa: A002
    return gathered(about, input, indices, about.axis(axis, input.ndim))


def gathered(about: Operation, x: Any, places: Any, axis: int) -> Any:
    """Elements at places of an axis, which count from the end where they are below 0; those outside
    are those of the border.
    """
    n, rank = x.shape[axis], places.ndim
    result = [*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]]
    index = names("i", len(result))
    place = from_end(f"P{at(index[axis : axis + rank])}", n)
    inside = [*index[:axis], place, *index[axis + rank :]]
    return written(
        f"op nnef_gather(X: {typed(x.dtype, x.shape)}, P: {typed(places.dtype, places.shape)}) -> Y: "
        f"{typed(x.dtype, result)} {{ Y{at(index)} = X[{', '.join(inside)} | clamp]  {ranges(index, result)} }}"
    )(x, places if places.dtype.is_int else places.astype(I64.name))
