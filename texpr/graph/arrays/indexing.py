"""Keys of `x[...]` as indices of an operator: NumPy's rules for integers, slices, `...`, `None`,
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from texpr.graph.arrays.operator_texts import broadcast
from texpr.ir.dtypes import BOOL
from texpr.ir.shapes import Shape
from texpr.support.errors import CallError


@dataclass(slots=True)
class Selection:
    """Elements of an array.

    Attributes:
        result: the shape of what is selected.
        at: for each axis of the array its index, over axes `i0`, `i1`, ... of the result and
            elements of `P0`, `P1`, ...
        places: arrays of integers, with the extents of the axes that they count along.
        spans: for each axis of the array its start, step and count; a count of None for a single
            place. Empty where arrays are used.
    """

    result: list[int] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    places: list[tuple[object, int]] = field(default_factory=list)
    spans: list[tuple[int, int, int | None]] = field(default_factory=list)


def selection(shape: Shape, key: object) -> Selection:
    """The selection by `x[key]` from an array of this shape.

    Args:
        key: arrays in it are of integers.
    Raises:
        CallError: too many indices, one out of bounds, or of another kind.
    """
    items = _completed(shape, key if isinstance(key, tuple) else (key,))
    arrays = [item for item in items if _is_array(item)]
    if any(a.dtype == BOOL or a.dtype == np.bool_ for a in arrays):  # type: ignore[attr-defined]
        raise CallError(
            "booleans choose as many elements as hold, and no extent of a program may depend on values",
            code="index",
            help="use where(condition, x, 0), or choose outside of the function that is traced",
        )
    found = Selection()
    shared = broadcast([tuple(a.shape) for a in arrays]) if arrays else ()  # type: ignore[attr-defined]
    first = _first_place(items) if arrays else -1
    axis = 0
    if first == -1 and arrays:  # arrays apart from each other: their axes come first
        found.result += shared
    for k, item in enumerate(items):
        if k == first:
            base = len(found.result)
            found.result += shared
        if item is None:
            found.result.append(1)
            continue
        n, axis = shape[axis], axis + 1
        if isinstance(item, slice):
            _add_slice(found, item, n)
        elif _is_array(item):
            begins = (0 if first == -1 else base) + len(shared) - len(item.shape)  # type: ignore[attr-defined]
            _add_places(found, item, n, begins)
        else:
            found.at.append(str(_position(item, n, axis - 1)))
            found.spans.append((_position(item, n, axis - 1), 1, None))
    if arrays:
        found.spans = []
    return found


def _completed(shape: Shape, items: Sequence[object]) -> list[object]:
    """With full slices in the place of `...` and at the end.

    Raises:
        CallError: too many indices, or several `...`.
    """
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > len(shape):
        raise CallError(f"{used} indices for a tensor of {len(shape)} axes", code="index")
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise CallError("an index has `...` more than once", code="index")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * (len(shape) - used), *items[at + 1 :]]


def _is_array(item: object) -> bool:
    return hasattr(item, "shape") and hasattr(item, "dtype") and not isinstance(item, np.integer)


def _first_place(items: Sequence[object]) -> int:
    """Position of the axes of index arrays: that of the first of them if all stand together, single
    places among them; else -1, to the front.
    """
    chosen = [k for k, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    return chosen[0] if chosen[-1] - chosen[0] == len(chosen) - 1 else -1


def _add_slice(found: Selection, item: slice, n: int) -> None:
    try:
        start, stop, step = item.indices(n)
    except (TypeError, ValueError) as error:
        raise CallError(
            f"slice {item}: {error}", code="index", help="bounds and steps are integers, steps not 0"
        ) from None
    count, axis = len(range(start, stop, step)), f"i{len(found.result)}"
    ahead = axis if abs(step) == 1 else f"{abs(step)}*{axis}"
    if count == 0:
        found.at.append(axis)
    else:
        found.at.append(f"{start} - {ahead}" if step < 0 else f"{start} + {ahead}" if start else ahead)
    found.result.append(count)
    found.spans.append((start, step, count))


def _add_places(found: Selection, item: object, n: int, begins: int) -> None:
    name = f"P{len(found.places)}"
    axes = [
        "0" if extent == 1 and found.result[begins + k] != 1 else f"i{begins + k}"
        for k, extent in enumerate(item.shape)  # type: ignore[attr-defined]
    ]
    element = f"{name}[{', '.join(axes)}]" if axes else name
    found.at.append(f"if {element} < 0 then {element} + {n} else {element}")
    found.places.append((item, n))


def _position(item: object, n: int, axis: int) -> int:
    if isinstance(item, bool | np.bool_) or not hasattr(item, "__index__"):
        raise CallError(
            f"{item!r} is no index",
            code="index",
            help="an index is an integer, a slice, `...`, None, or an array of integers or booleans",
        )
    place = item.__index__()  # type: ignore[attr-defined]
    if not -n <= place < n:
        raise CallError(f"index {place} is out of bounds for axis {axis} of extent {n}", code="index")
    return place % n


def put_condition(found: Selection) -> tuple[str, list[str], list[int]]:
    """The condition under which an element `i0`, `i1`, ... of the array is selected; its indices in
    the selection, without axes of new extent 1; the shape of that.
    """
    conditions, at, shape = [], [], []
    for k, (start, step, count) in enumerate(found.spans):
        axis = f"i{k}"
        if count is None:
            conditions.append(f"{axis} == {start}")
            continue
        lowest = start if step > 0 else start + step * (count - 1)
        highest = start if step < 0 else start + step * (count - 1)
        conditions += [f"{axis} >= {lowest}", f"{axis} <= {highest}"]
        if abs(step) > 1:
            conditions.append(f"({axis} - {lowest}) % {abs(step)} == 0")
        away = f"{axis} - {start}" if step > 0 else f"{start} - {axis}"
        at.append(away if abs(step) == 1 else f"({away}) // {abs(step)}")
        shape.append(count)
    return " and ".join(conditions), at, shape
