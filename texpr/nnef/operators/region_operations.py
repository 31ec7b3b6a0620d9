"""Regions of interest of an image: pooled to a size, or sampled between elements.

The Khronos NNEF Working Group, Neural Network Exchange Format 1.0.5, section 4.6. Where it leaves a
choice, or contradicts itself:

* Cells of a pool begin at the first element of their region. The standard adds the height of a cell,
  which would put the last cells outside of the region.
* Elements outside of the image do not count in a pool, and a cell without elements is 0, as in
  Girshick, Fast R-CNN, 2015. Samples outside of the image are those of its border.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from texpr.ir.dtypes import DType, numpy_dtype
from texpr.nnef.graph_values import Known
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import at, names, ranges, typed, wide, written
from texpr.nnef.operators.element_operations import floats

_FARTHEST = 1 << 30
"""Coordinates are clamped to it, so that products of them fit i64."""

_CELLS = """op nnef_cells(R: F[N, AXES]) -> M: bool[N, P, S] {
  let s: i64[N]  s[r] = i64(floor(clamp(R[r, FIRST], -FAR, FAR) + 0.5))
  let n: i64[N]  n[r] = max(i64(floor(clamp(R[r, LAST], -FAR, FAR) + 0.5)) - s[r], 0)
  M[r, i, p] = p >= s[r] + i * (n[r] // P) and p < s[r] + i * (n[r] // P) + (n[r] + P - 1) // P
}"""
"""The elements of an axis that are in a cell: cells are `ceil(n / P)` long, `floor(n / P)` apart."""

_PLACES = {
    "symmetric": "(F(i) + 0.5) * E / P - 0.5",
    "asymmetric": "F(i) * E / P",
    "aligned": "F(i) * (E - 1) / LAST",
}
"""Samples of a region whose extent is `E`, from its start on."""


def _checked(about: Operation, x: Any, rois: Any, batch_index: Any, out: Sequence[int]) -> list[int]:
    """The shape of the result.

    Raises:
        CallError: the shapes are not those of a call.
    """
    axes = x.ndim - 2
    if axes < 1 or len(out) != axes or any(type(n) is not int or n < 1 for n in out):
        raise about.refuse(f"an output of {list(out)} for an input of shape {list(x.shape)}")
    if rois.ndim != 2 or rois.shape[1] != 2 * axes or tuple(batch_index.shape) != (rois.shape[0], 1):
        raise about.refuse(
            f"regions of shape {list(rois.shape)} with batch indices of shape {list(batch_index.shape)}; "
            f"for {axes} spatial axes they are [N, {2 * axes}] and [N, 1]"
        )
    return [rois.shape[0], x.shape[1], *out]


def _zeros(about: Operation, shape: Sequence[int], t: DType) -> Any:
    return about.tensor(Known.of(np.zeros(shape, numpy_dtype(t)), t))


@operation("avg_roi_pool", "max_roi_pool")
def _pooled(about: Operation, input: Any, rois: Any, batch_index: Any, output_size: Any) -> Any:  # noqa: A002
    shape, t = _checked(about, input, rois, batch_index, output_size), input.dtype
    if not prod(shape) or not input.size:
        return _zeros(about, shape, t)
    images, places = batch_index.astype("i64"), floats(about, rois)
    found, f = input, wide(places.dtype)
    for axis, count in enumerate(output_size):
        words = {
            "AXES": str(rois.shape[1]),
            "FIRST": str(axis),
            "LAST": str(len(output_size) + axis),
            "FAR": str(_FARTHEST),
            "P": str(count),
            "S]": f"{input.shape[2 + axis]}]",
            "F[": f"{f}[",
        }
        text = _CELLS
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        cells = written(text)(places.astype(f.name))
        found = _pooled_along(about.name, found, cells, axis, *([] if axis else [images]))
    return found.astype(t.name)


def _pooled_along(name: str, x: Any, cells: Any, axis: int, *images: Any) -> Any:
    """One axis pooled; the first one takes the regions out of their images too."""
    t, f = x.dtype, wide(x.dtype)
    index = names("y", x.ndim - 2)
    result = [cells.shape[0], x.shape[1], *x.shape[2 : 2 + axis], cells.shape[1], *x.shape[3 + axis :]]
    inside = [*index[:axis], "q", *index[axis + 1 :]]
    image, border = ("I[r, 0]", " | clamp") if images else ("r", "")
    read, cell = f"{f}(X[{image}, c, {', '.join(inside)}{border}])", f"M[r, {index[axis]}, q]"
    span = f"q in 0..{cells.shape[2]}"
    if name == "max_roi_pool":
        value = f"if n[r, {index[axis]}] == 0 then 0 else max({span}: if {cell} then {read} else -inf)"
    else:
        value = f"sum({span}: if {cell} then {read} else 0) / {f}(max(n[r, {index[axis]}], 1))"
    more = f", I: i64[{cells.shape[0]}, 1]" if images else ""
    return written(
        f"op nnef_{name}(X: {typed(t, x.shape)}, M: {typed(cells.dtype, cells.shape)}{more}) -> "
        f"Y: {typed(f, result)} {{ let n: i64[{cells.shape[0]}, {cells.shape[1]}]  "
        f"n[r, i] = sum<i64>({span}: if M[r, i, q] then 1 else 0)  "
        f"Y{at(['r', 'c', *index])} = {value}  {ranges(['r', 'c', *index], result)} }}"
    )(x, cells, *images)


@operation("roi_resample")
def _resampled(
    about: Operation, input: Any, rois: Any, batch_index: Any, output_size: Any, method: str  # noqa: A002
) -> Any:  # fmt: skip
    place = _PLACES[about.word("method", method, *_PLACES)]
    shape, t = _checked(about, input, rois, batch_index, output_size), input.dtype
    if not prod(shape) or not input.size:
        return _zeros(about, shape, t)
    axes, places = len(output_size), floats(about, rois)
    index, f = names("y", axes), wide(places.dtype)
    lines = []
    for k, (n, extent) in enumerate(zip(output_size, input.shape[2:])):
        spot = place.replace("E", f"(R[r, {axes + k}] - R[r, {k}])")
        for word, meaning in {"LAST": str(max(n - 1, 1)), "P": str(n), "F(": f"{f}("}.items():
            spot = spot.replace(word, meaning)
        lines.append(
            f"let p{k}: {f}[{shape[0]}, {n}]  p{k}[r, i] = clamp(R[r, {k}] + {spot}, 0, {extent - 1})"
        )
    near = [f"p{k}[r, {name}]" for k, name in enumerate(index)]
    terms = []
    for corner in product((0, 1), repeat=axes):
        pairs = list(zip(near, corner))
        weight = " * ".join(f"({p} - floor({p}))" if c else f"(1 - ({p} - floor({p})))" for p, c in pairs)
        element = ", ".join(f"i64(floor({p})) + {c}" for p, c in pairs)
        terms.append(f"{weight} * {f}(X[I[r, 0], c, {element} | clamp])")
    return written(
        f"op nnef_roi_resample(X: {typed(t, input.shape)}, R: {typed(f, rois.shape)}, "
        f"I: i64[{shape[0]}, 1]) -> Y: {typed(t, shape)} {{ {'  '.join(lines)}  "
        f"Y{at(['r', 'c', *index])} = {t}({' + '.join(terms)})  {ranges(['r', 'c', *index], shape)} }}"
    )(input, places.astype(f.name), batch_index.astype("i64"))
