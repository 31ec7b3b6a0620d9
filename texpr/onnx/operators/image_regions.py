"""Parts of images whose places are data: regions of interest, convolutions whose taps move."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from texpr.ir.dtypes import DType, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import at, axes, each, number, ranges, typed, wide, written
from texpr.onnx.operators.windows import places, window
from texpr.onnx.values import Known

_SAMPLES = """op samples(rois: F[R, 4]) -> OUTPUTS {
  let s: F[R]  s[r] = rois[r, START] * SCALE - SHIFT
  let e: F[R]  e[r] = EXTENT
  let n: i64[R]  n[r] = COUNT
  LINES
}"""
"""Along one axis: what elements of the image count in all samples of an element of a region."""
_LINES = {
    "avg": "w[r, i, p] = sum(a in 0..n[r]: if INSIDE then max(1 - abs(NEAR - F(p)), 0) else 0) / F(max(n[r], 1))",
    "max": """out[r, i] = any(a in 0..max(n[r], 1): a >= n[r] or not (INSIDE))
  most[r, i, p] = max(a in 0..max(n[r], 1): if a < n[r] and INSIDE then max(if BELOW == F(p) then 1 - PART else -1,
    if min(BELOW + 1, IN - 1) == F(p) then PART else -1) else -1)
  least[r, i, p] = min(a in 0..max(n[r], 1): if a < n[r] and INSIDE then min(if BELOW == F(p) then 1 - PART else 2,
    if min(BELOW + 1, IN - 1) == F(p) then PART else 2) else 2)""",
}
"""The mean weights; or whether samples are outside, and the largest and the least weight among those
samples that an element is a corner of.
"""
_OUTPUTS = {
    "avg": "w: F[R, OUT, IN]",
    "max": "(out: bool[R, OUT], most: F[R, OUT, IN], least: F[R, OUT, IN])",
}
_WORDS = {
    "INSIDE": "PLACE >= -1 and PLACE <= IN",
    "PART": "(NEAR - BELOW)",
    "BELOW": "floor(NEAR)",
    "NEAR": "clamp(PLACE, 0, IN - 1)",
    "PLACE": "(s[r] + (F(i) + (F(a) + 0.5) / F(n[r])) * e[r] / OUT)",
}
_ROWS = """op roi_rows<T: float>(X: T[N, C, H, W], image: i64[R], w: F[R, I, H]) -> Y: F[R, C, I, W] {
  Y[r, c, i, q] = sum(p: if w[r, i, p] == 0 then 0 else w[r, i, p] * F(X[image[r], c, p, q | clamp]))
}"""
_COLUMNS = """op roi_columns(X: F[R, C, I, W], w: F[R, J, W]) -> Y: F[R, C, I, J] {
  Y[r, c, i, j] = sum(q: if w[r, j, q] == 0 then 0 else w[r, j, q] * X[r, c, i, q])
}"""
_LARGEST = """op roi_largest<T: float>(X: T[N, C, H, W], image: i64[R], m: F[R, I, H], l: F[R, I, H], m1: F[R, J, W],
  l1: F[R, J, W]) -> Y: F[R, C, I, J] require H >= 1, W >= 1 {
  Y[r, c, i, j] = max(p, q: if m[r, i, p] < 0 or m1[r, j, q] < 0 then -inf
    else (if F(X[image[r], c, p, q | clamp]) < 0 then l[r, i, p] * l1[r, j, q] else m[r, i, p] * m1[r, j, q])
      * F(X[image[r], c, p, q | clamp]))
}"""
"""He et al., Mask R-CNN, 2017: each element of a region is the mean, or the largest corner, of
samples between elements of the image. Places more than one element outside of it give 0, others
outside of it are those of its border. The weight of a corner is a product of one by rows and one by
columns, so those of all samples are summed up before, by axis.
"""


def _samples(node: Node, rois: Any, axis: int, mode: str, out: int, extent: int, shifted: bool) -> Any:
    """The tables of `_LINES` along rows, 0, or columns, 1."""
    ratio, end = node.attr("sampling_ratio", 0), f"rois[r, {3 - axis}] * SCALE - SHIFT - s[r]"
    text = _SAMPLES.replace("OUTPUTS", _OUTPUTS[mode]).replace("LINES", _LINES[mode])
    words = {
        **_WORDS,
        "START": str(1 - axis),
        "EXTENT": end if shifted else f"max({end}, 1)",
        "COUNT": str(ratio) if ratio else "max(i64(ceil(e[r] / OUT)), 0)",
        "SCALE": number(node.attr("spatial_scale", 1.0)),
        "SHIFT": "0.5" if shifted else "0",
        "OUT": str(out),
        "IN": str(extent),
    }
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return written(_typed(text, rois.dtype))(rois)


def _typed(text: str, t: DType) -> str:
    """F is the dtype of places and weights."""
    return text.replace("F[", f"{t}[").replace("F(", f"{t}(")


@converter("RoiAlign")
def _align(node: Node, x: Any, rois: Any, images: Any) -> Any:
    out = [node.attr("output_height", 1), node.attr("output_width", 1)]
    result, t = [rois.shape[0], x.shape[1], *out], wide(x.dtype)
    if min(*out, node.attr("sampling_ratio", 0) + 1) < 1 or rois.shape[1:] != (4,):
        raise node.refuse(f"regions {list(rois.shape)} as {out}")
    if images.shape != rois.shape[:1]:
        raise node.refuse(f"regions {list(rois.shape)} of images {list(images.shape)}")
    if not prod(result) or not x.size:
        return Known(np.zeros(result, numpy_dtype(x.dtype)), x.dtype)
    shifted = node.version >= 16 and (
        node.word("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == "half_pixel"
    )
    mode, places = node.word("mode", "avg", "max"), rois.astype(t.name)
    rows, columns = (_samples(node, places, k, mode, out[k], x.shape[2 + k], shifted) for k in (0, 1))
    images = images.astype("i64")
    if mode == "avg":
        found = written(_typed(_COLUMNS, t))(written(_typed(_ROWS, t))(x, images, rows), columns)
        return found.astype(x.dtype.name)
    (above, most, least), (beside, most1, least1) = rows, columns
    found = written(_typed(_LARGEST, t))(x, images, most, least, most1, least1)
    outside = above.reshape(-1, 1, out[0], 1) | beside.reshape(-1, 1, 1, out[1])
    return each("outside", "if {1} then max({0}, 0) else {0}", found, outside).astype(x.dtype.name)


_BINS = """op bins(rois: F[R, 5]) -> M: bool[R, OUT, IN] {
  let s: i64[R]  s[r] = i64(floor(rois[r, START] * SCALE + 0.5))
  let n: i64[R]  n[r] = max(i64(floor(rois[r, END] * SCALE + 0.5)) - s[r] + 1, 1)
  M[r, i, p] = p >= s[r] + i * n[r] // OUT and p < s[r] - (-(i + 1) * n[r] // OUT)
}"""
_POOLED = """op roi_pool<T: float>(X: T[N, C, H, W], image: i64[R], M: bool[R, I, H], M1: bool[R, J, W]) -> Y: T[R, C, I, J]
  require H >= 1, W >= 1 {
  let any0: bool[R, I]  any0[r, i] = any(p: M[r, i, p])
  let any1: bool[R, J]  any1[r, j] = any(q: M1[r, j, q])
  let most: T[R, C, I, J]
  most[r, c, i, j] = max(p, q: if M[r, i, p] and M1[r, j, q] then X[image[r], c, p, q | clamp] else -inf)
  Y[r, c, i, j] = if any0[r, i] and any1[r, j] then most[r, c, i, j] else 0
}"""
"""Girshick, Fast R-CNN, 2015: regions are rounded to elements; bins without any are 0."""


@converter("MaxRoiPool")
def _largest(node: Node, x: Any, rois: Any) -> Any:
    out, scale, t = node.attr("pooled_shape"), number(node.attr("spatial_scale", 1.0)), wide(x.dtype)
    if len(out) != 2 or min(out) < 1 or rois.shape[1:] != (5,) or x.ndim != 4:
        raise node.refuse(f"regions {list(rois.shape)} of images {list(x.shape)} as {out}")
    result = [rois.shape[0], x.shape[1], *out]
    if not prod(result) or not x.size:
        return Known(np.zeros(result, numpy_dtype(x.dtype)), x.dtype)
    places, masks = rois.astype(t.name), []
    for axis, (extent, count) in enumerate(zip(x.shape[2:], out)):
        text = _BINS.replace("OUT", str(count)).replace("IN]", f"{extent}]").replace("SCALE", scale)
        text = text.replace("START", str(2 - axis)).replace("END", str(4 - axis))
        masks.append(written(_typed(text, t))(places))
    return written(_POOLED)(x, places[:, 0].astype("i64"), *masks)


@converter("DeformConv")
def _deformed(node: Node, x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None) -> Any:
    """A convolution whose taps are moved by numbers of their own, and sampled between elements. Dai
    et al., Deformable Convolutional Networks, 2017; with a mask, Zhu et al., 2019.
    """
    groups, shifts, rank = node.attr("group", 1), node.attr("offset_group", 1), x.ndim - 2
    w, t = window(node, x.shape[2:], list(weight.shape[2:])), x.dtype
    batch, channels, kernels = x.shape[0], x.shape[1], weight.shape[0]
    taps = prod(w.size)
    wanted = (batch, shifts * taps * rank, *w.count)
    if (
        channels % shifts
        or kernels % groups
        or weight.shape[1] * groups != channels
        or offset.shape != wanted
    ):
        raise node.refuse(
            f"weights {list(weight.shape)} and offsets {list(offset.shape)} for an image {list(x.shape)}; "
            f"{groups} groups, {shifts} of offsets"
        )
    out, inside, f = axes("y", rank), axes("r", rank), wide(t)
    own, size, count = f"ch // {channels // shifts}", *(", ".join(map(str, v)) for v in (w.size, w.count))
    tap = [*inside, *out]
    lines = []
    for k, spot in enumerate(places(w, out, inside)):
        place = f"{f}({spot}) + {f}(D[n, (o, {', '.join(inside)}, {k}), {', '.join(out)}])"
        lines.append(
            f"let p{k}: {f}[{batch}, {shifts}, {size}, {count}]  "
            f"p{k}{at(['n', 'o', *tap])} = clamp({place}, -2, {x.shape[2 + k] + 1})"
        )
    near = [f"p{k}{at(['n', own, *tap])}" for k in range(rank)]
    terms = [
        " * ".join(f"({p} - floor({p}))" if c else f"(1 - ({p} - floor({p})))" for p, c in zip(near, corner))
        + f" * {f}(X[n, ch, {', '.join(f'i64(floor({p})) + {c}' for p, c in zip(near, corner))} | 0])"
        for corner in product((0, 1), repeat=rank)
    ]
    masked = "" if mask is None else f" * {f}(M[n, ({own}, {', '.join(inside)}), {', '.join(out)}])"
    c, k = channels // groups, kernels // groups
    first = "" if bias is None else "bias[(g, k)] + "
    given = {
        "X": typed(t, x.shape),
        "W": f"{t}[({groups}, {k}), {c}, {size}]",
        "D": f"{offset.dtype}[{batch}, ({shifts}, {size}, {rank}), {count}]",
        "bias": f"{t}[({groups}, {k})]",
        "M": f"{t}[{batch}, ({shifts}, {size}), {count}]",
    }
    values = dict(zip(given, (x, weight, offset, bias, mask)))
    declared = ", ".join(f"{name}: {kind}" for name, kind in given.items() if values[name] is not None)
    text = (
        f"op deform_conv({declared}) -> Y: {t}[{batch}, ({groups}, {k}), {count}] {{ {'  '.join(lines)}  "
        f"let V: {f}[{batch}, {channels}, {size}, {count}]  "
        f"V{at(['n', 'ch', *tap])} = ({' + '.join(terms)}){masked}  "
        f"Y[n, (g, k), {', '.join(out)}] = {first}sum(c, {', '.join(inside)}: V[n, g*{c} + c, {', '.join(tap)}] "
        f"* W[(g, k), c, {', '.join(inside)}])  for n in 0..{batch}, g in 0..{groups}, k in 0..{k}, "
        f"{ranges(out, w.count)[4:]} }}"
    )
    return written(text)(*(v for v in values.values() if v is not None))
