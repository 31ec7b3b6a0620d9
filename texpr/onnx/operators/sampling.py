"""Images that are sampled, put together from windows, or unpooled, and boxes that are chosen."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import at, axes, ranges, typed, wide, written
from texpr.onnx.values import Known

_TAPS = {
    "nearest": {0: "1"},
    "linear": {0: "1 - F", 1: "F"},
    # Keys, Cubic Convolution Interpolation, 1981, with a = -0.75.
    "cubic": {
        -1: "((-0.75 * (F + 1) + 3.75) * (F + 1) - 6) * (F + 1) + 3",
        0: "(1.25 * F - 2.25) * F * F + 1",
        1: "(1.25 * (1 - F) - 2.25) * (1 - F) * (1 - F) + 1",
        2: "((-0.75 * (2 - F) + 3.75) * (2 - F) - 6) * (2 - F) + 3",
    },
}
"""Elements around a place by their distance from the one below, with weights; F is how far the
place is above that one.
"""


@converter("GridSample")
def _grid_sample(node: Node, x: Any, grid: Any) -> Any:
    mode = node.word(
        "mode",
        *(("linear", "nearest", "cubic") if node.version >= 20 else ("bilinear", "nearest", "bicubic")),
    )
    padding, aligned = (
        node.word("padding_mode", "zeros", "border", "reflection"),
        bool(node.attr("align_corners", 0)),
    )
    taps, t = _TAPS[mode.removeprefix("bi")], wide(x.dtype)
    rank, outer = x.ndim - 2, ["n", *axes("o", x.ndim - 2)]
    lines = []
    for k, n in enumerate(x.shape[2:]):
        g = f"{t}(G{at([*outer, rank - 1 - k])})"
        place = f"({g} + 1) / 2 * {n - 1}" if aligned else f"(({g} + 1) * {n} - 1) / 2"
        place = f"round({place})" if mode == "nearest" else place
        lines += [
            f"p{k}{at(outer)} = {_brought_back(place, n, padding, aligned)}",
            f"b{k}{at(outer)} = i64(floor(p{k}{at(outer)}))",
            f"f{k}{at(outer)} = p{k}{at(outer)} - floor(p{k}{at(outer)})",
        ]
    terms = []
    for offsets in product(taps, repeat=rank):
        factors = [f"({taps[d].replace('F', f'f{k}{at(outer)}')})" for k, d in enumerate(offsets)]
        spots = [
            _reflected(f"(b{k}{at(outer)} + {d})", n, padding, aligned)
            for k, (d, n) in enumerate(zip(offsets, x.shape[2:]))
        ]
        terms.append(
            f"{' * '.join(factors)} * {t}(X[n, c, {', '.join(spots)} | "
            f"{'0' if padding == 'zeros' else 'clamp'}])"
        )
    result = [*x.shape[:2], *grid.shape[1:-1]]
    return written(
        f"op grid_sample(X: {typed(x.dtype, x.shape)}, G: {typed(grid.dtype, grid.shape)}) -> Y: "
        f"{typed(x.dtype, result)} {{ "
        f"{'  '.join(lines)}  Y{at(['n', 'c', *outer[1:]])} = {x.dtype}({' + '.join(terms)})  "
        f"{ranges(['n', 'c', *outer[1:]], result)} }}"
    )(x, grid)


@converter("AffineGrid", known=(1,))
def _affine_grid(node: Node, theta: Any, _: Any) -> Any:
    """ONNX's own definition by other operators loses the batch where that is 1."""
    size, aligned = node.ints(1), bool(node.attr("align_corners", 0))
    lines = [np.linspace(-1, 1, n) if aligned else (2 * np.arange(n) + 1) / max(n, 1) - 1 for n in size[2:]]
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])])
    t, image = wide(theta.dtype), size[2:]
    constant = Known(places.reshape(len(image) + 1, -1).astype(numpy_dtype(t)), t)
    found: Any = ops.einsum("nij,jp->npi", theta.astype(t.name), node.run.tensor(constant))
    return found.reshape(theta.shape[0], *image, len(image)).astype(theta.dtype.name)


def _brought_back(place: str, n: int, padding: str, aligned: bool) -> str:
    """A place along an axis of n elements: inside of it by reflection; else as it is, but for
    places so far away that all elements around are outside, which infinity may be among.
    """
    if padding != "reflection":
        return f"clamp({place}, -3, {n + 2})"
    low, extent = (0.0, float(n - 1)) if aligned else (-0.5, float(n))
    if not extent:
        return f"0 * ({place})"
    return f"{extent} - abs({extent} - ({place} - ({low})) % {2 * extent}) + ({low})"


def _reflected(i: str, n: int, padding: str, aligned: bool) -> str:
    if padding != "reflection":
        return i
    around = max(2 * n - 2, 1) if aligned else 2 * n
    return (
        f"(if {i} % {around} < {n} then {i} % {around} else {around if aligned else around - 1} - {i} % "
        f"{around})"
    )


@converter("Col2Im", known=(1, 2))
def _put_together(node: Node, x: Any, *_: Any) -> Any:
    image, block = node.ints(1), node.ints(2)
    rank = len(image)
    stride, step = node.attr("strides") or [1] * rank, node.attr("dilations") or [1] * rank
    pads = node.attr("pads") or [0] * 2 * rank
    counts = [
        (n + p + q - d * (k - 1) - 1) // s + 1
        for n, p, q, d, k, s in zip(image, pads, pads[rank:], step, block, stride)
    ]
    channels = x.shape[1] // prod(block)
    if x.shape[1:] != (channels * prod(block), prod(counts)):
        raise node.refuse(
            f"windows of {block} in {image} are {counts}, and the input has shape {list(x.shape)}"
        )
    inside, windows, out = axes("r", rank), axes("w", rank), axes("y", rank)
    place = ", ".join(
        f"{s}*{w} + {d}*{r} - {p}" for s, w, d, r, p in zip(stride, windows, step, inside, pads)
    )
    given = [x.shape[0], f"({', '.join(map(str, [channels, *block]))})", f"({', '.join(map(str, counts))})"]
    group = f"({', '.join(windows)})"
    return written(
        f"op col2im(X: {typed(x.dtype, given)}) -> Y: {typed(x.dtype, [x.shape[0], channels, *image])} {{ "
        f"Y{at(['n', 'c', *out])} = 0  Y[n, c, {place} | drop] += X[n, (c, {', '.join(inside)}), {group}] }}"
    )(x)


@converter("MaxUnpool", known=(2,))
def _unpool(node: Node, x: Any, places: Any, _: Any = None) -> Any:
    kernel = node.attr("kernel_shape")
    rank = len(kernel)
    stride, pads = node.attr("strides") or [1] * rank, node.attr("pads") or [0] * 2 * rank
    spatial = [
        (n - 1) * s - p - q + k for n, s, p, q, k in zip(x.shape[2:], stride, pads, pads[rank:], kernel)
    ]
    whole = [*x.shape[:2], *spatial]
    found = _put(node, x, places, whole)
    wanted = node.ints(2) or whole
    if len(wanted) != len(whole) or any(w < n for w, n in zip(wanted, whole)):
        raise node.refuse(f"the output shape is {wanted}, and the windows fill {whole}")
    for k, (w, n) in enumerate(zip(wanted, whole)):
        found = ops.pad(found, axis=k, before=0, after=w - n) if w > n else found
    return found


def _put(node: Node, x: Any, places: Any, whole: list[int]) -> Any:
    """Elements at their places among zeros; of several for one place the last one counts."""
    count, size = prod(whole), x.size
    if not size:
        return node.run.tensor(Known(np.zeros(whole, numpy_dtype(x.dtype)), x.dtype))
    text = (
        f"op unpool(X: {x.dtype}[{size}], I: i64[{size}]) -> Y: {x.dtype}[{count}] {{ let last: i64[{count}] "
        f" last[i] = -1  "
        f"last[I[j] | drop] max= j  for j in 0..{size}  Y[i] = if last[i] >= 0 then X[last[i] | clamp] else "
        f"0 }}"
    )
    return written(text)(x.reshape(-1), places.reshape(-1)).reshape(*whole)


@converter("NonMaxSuppression", known=(0, 1, 2, 3, 4))
def _choose_boxes(node: Node, *_: Any) -> Any:
    boxes, scores = node.known(0), node.known(1)
    if (
        boxes.ndim != 3
        or boxes.shape[-1] != 4
        or scores.ndim != 3
        or (scores.shape[0], scores.shape[2]) != boxes.shape[:2]
    ):
        raise node.refuse(
            f"boxes {list(boxes.shape)} and scores {list(scores.shape)}; expected (batch, boxes, 4), (batch, "
            f"classes, boxes)"
        )
    count, limit, least = int(node.one(2, 0)), float(node.one(3, 0.0)), float(node.one(4, -np.inf))
    if node.attr("center_point_box", 0):
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        boxes = np.concatenate([middle - half, middle + half], -1)
    low, high = np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])
    found = []
    for b, c in np.ndindex(*scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[b, c], kind="stable"):
            if len(kept) >= count or not scores[b, c, i] > least:
                break
            if all(_share(low[b], high[b], i, j) <= limit for j in kept):
                kept.append(int(i))
        found += [(b, c, i) for i in kept]
    return Known.of(np.array(found, np.int64).reshape(-1, 3))


def _share(low: np.ndarray, high: np.ndarray, i: int, j: int) -> float:
    """The area of what two boxes have together in that of both."""
    common = np.prod(np.maximum(np.minimum(high[i], high[j]) - np.maximum(low[i], low[j]), 0))
    whole = np.prod(high[i] - low[i]) + np.prod(high[j] - low[j]) - common
    return float(common / whole) if whole > 0 else 0.0
