"""Images of another size: every element is a sum of a few neighbours on each axis, which are
known when the program is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr.ir.dtypes import F32, F64, DType, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import each, wide, written
from texpr.onnx.values import Known
from texpr.support.frozen_dataclass import frozen

_NEAR = """op nearest<T>(X: T[*A:axis, N, *B], P: i64[M]; axis = 0) -> Y: T[*A, M, *B] {
  Y[*a, i, *b] = X[*a, P[i], *b | clamp]
}"""
_BETWEEN = """op between<T: float>(X: T[*A:axis, N, *B], P: i64[M], W: T[M, K]; axis = 0) -> Y: T[*A, M, *B] {
  Y[*a, i, *b] = sum(k: if W[i, k] == 0 then 0 else W[i, k] * X[*a, P[i] + k, *b | clamp])
}"""
_TRANSFORMS = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_ROUNDED = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_ceil": lambda v: np.floor(v + 0.5),
    "round_prefer_floor": lambda v: np.ceil(v - 0.5),
}


@frozen
class _Way:
    """A way of resizing, by the attributes of a node.

    Attributes:
        transform, mode, nearest: how places are found, what is done with them, how they are
        rounded.
        a: of the cubic.
    """

    transform: str
    mode: str
    nearest: str
    a: float = -0.75
    antialias: bool = False
    inside: bool = False
    outside: float = 0.0

    @staticmethod
    def of(node: Node) -> _Way:
        """The attributes, or what versions before 11 do without them, as ONNX Runtime has it:
        its definition says nothing of places.
        """
        mode = node.word(
            "mode", "nearest", "linear", "cubic", *(["bilinear"] if node.version < 7 else [])
        ).removeprefix("bi")
        if node.op == "Upsample" or node.version < 11:
            return _Way("asymmetric", mode, "simple")
        return _Way(
            node.word("coordinate_transformation_mode", *_TRANSFORMS),
            mode,
            node.word("nearest_mode", *_NEAREST),
            node.attr("cubic_coeff_a", -0.75),
            bool(node.attr("antialias", 0)),
            bool(node.attr("exclude_outside", 0)),
            node.attr("extrapolation_value", 0.0),
        )


@frozen
class _Taps:
    """Elements that are summed along an axis.

    Attributes:
        first: the first neighbour of each element of the result.
        weights: of it and those that follow it.
        outside: elements of the result that come from outside of the image.
    """

    first: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    @property
    def chosen(self) -> bool:
        """True if each element is one of the image."""
        return self.weights.shape[1] == 1 and bool((self.weights == 1).all())


def _source(mode: str, scale: float, size: int, n: int, roi: tuple[Any, Any]) -> np.ndarray:
    """Coordinates of the result's elements in the source, by the coordinate transformation of
    ONNX's Resize.
    """
    i = np.arange(size, dtype=np.float64)
    if mode == "align_corners":
        return i * (n - 1) / (size - 1) if size > 1 else np.zeros(1)
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if mode == "pytorch_half_pixel" and size <= 1:
        return np.zeros(size)
    if mode == "half_pixel_symmetric":
        exact = scale * n
        return n / 2 * (1 - size / exact) + (i + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        start, end = roi
        i = i.astype(start.dtype)
        return (
            start * (n - 1) + i * (end - start) * (n - 1) / (size - 1)
            if size > 1
            else np.array([0.5 * (start + end) * (n - 1)])
        )
    return (i + 0.5) / scale - 0.5


def _filter(way: _Way) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """A function of the distance and how far it reaches. Keys, Cubic Convolution Interpolation,
    1981.
    """
    a = way.a

    def linear(d: np.ndarray) -> np.ndarray:
        return np.maximum(1 - d, 0)

    def cubic(d: np.ndarray) -> np.ndarray:
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    return (linear, 1) if way.mode == "linear" else (cubic, 2)


def _taps(way: _Way, n: int, size: int, scale: float, roi: tuple[Any, Any]) -> _Taps:
    """Weights that make `size` elements of n."""
    at = _source(way.transform, scale, size, n, roi)
    outside = (at < 0) | (at > n - 1) if way.transform == "tf_crop_and_resize" else np.zeros(size, bool)
    if way.mode == "nearest":
        rounded = _ROUNDED.get(way.nearest, np.ceil if scale < 1 else np.floor)(at)
        return _Taps(np.clip(rounded.astype(np.int64), 0, n - 1), np.ones((size, 1)), outside)
    f, reach = _filter(way)
    stretch = min(scale, 1.0) if way.antialias else 1.0
    far = int(np.ceil(reach / stretch)) + 1
    places = np.floor(at).astype(np.int64)[:, None] + np.arange(-far, far + 1)
    given = f(np.abs(at[:, None] - places) * stretch)
    if way.inside:
        given = np.where((places >= 0) & (places < n), given, 0)
    places = np.clip(places, 0, n - 1)
    summed = np.zeros_like(given)
    np.add.at(summed, (np.arange(size)[:, None], places - places[:, :1]), given / given.sum(1, keepdims=True))
    return _Taps(*_trimmed(places[:, 0], summed), outside)


def _trimmed(first: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without the weights that are 0 before the first and behind the last others."""
    used = weights != 0
    start = used.argmax(1)
    count = int((weights.shape[1] - used[:, ::-1].argmax(1) - start).max(initial=1))
    wider = np.pad(weights, ((0, 0), (0, count)))
    return first + start, np.take_along_axis(wider, start[:, None] + np.arange(count), 1)


def _sizes(node: Node, way: _Way, x: Any, chosen: Sequence[int]) -> tuple[list[int], list[float]]:
    """The extents of the chosen axes, and by how much they grow."""
    old = node.op == "Upsample" or node.version < 11
    sizes = None if old else node.ints(3) or None
    if sizes is None:
        scales = node.attr("scales") if node.has("scales") else node.known(1 if old else 2)
        if node.version < 7:
            scales = [*[1.0] * (len(chosen) - 2), node.attr("height_scale"), node.attr("width_scale")]
        if scales is None or np.size(scales) != len(chosen):
            raise node.refuse(
                f"{np.size(scales) if scales is not None else 'no'} scales of {len(chosen)} axes"
            )
        factors = np.ravel(np.asarray(scales, np.float32))
        return [int(np.floor(f * np.float32(x.shape[a]))) for f, a in zip(factors, chosen)], [
            float(f) for f in factors
        ]
    factors = [s / max(x.shape[a], 1) for s, a in zip(sizes, chosen)]
    policy = node.word("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
    if policy != "stretch":
        factors = [(min if policy == "not_larger" else max)(factors)] * len(factors)
        sizes = [int(np.floor(f * x.shape[a] + 0.5)) for f, a in zip(factors, chosen)]
    return sizes, factors


@converter("Resize", "Upsample", known=(1, 2, 3))
def _resize(node: Node, x: Any, *_: Any) -> Any:
    way, chosen = _Way.of(node), [node.axis(a, x.ndim) for a in (node.attr("axes") or range(x.ndim))]
    sizes, factors = _sizes(node, way, x, chosen)
    whole = list(x.shape)
    for a, size in zip(chosen, sizes):
        whole[a] = size
    if not x.size or not np.prod(whole):
        if np.prod(whole):
            raise node.refuse(f"{whole} elements of an image of {list(x.shape)}")
        return Known(np.zeros(whole, numpy_dtype(x.dtype)), x.dtype)
    roi = node.known(1) if way.transform == "tf_crop_and_resize" else None
    spans = [
        (np.float64(0), np.float64(1)) if roi is None else (roi[k], roi[k + len(chosen)])
        for k in range(len(chosen))
    ]
    taps = {
        a: _taps(way, x.shape[a], size, factor, span)
        for a, size, factor, span in zip(chosen, sizes, factors, spans)
    }
    found = _resized(node, way, x, taps)
    for a, t in taps.items():
        if t.outside.any():
            mask = node.run.tensor(Known.of(t.outside.reshape([-1 if k == a else 1 for k in range(x.ndim)])))
            value = node.run.tensor(Known.of(np.array(way.outside))).astype(x.dtype.name)
            found = each("outside", "if {0} then {1} else {2}", mask, value, found, result=x.dtype)
    return found


def _resized(node: Node, way: _Way, x: Any, taps: dict[int, _Taps]) -> Any:
    """Axis after axis. Linear interpolation of integers cuts towards 0, and all else rounds, as
    ONNX Runtime and the reference have it.
    """
    if all(t.chosen for t in taps.values()):
        for a, t in taps.items():
            x = _taken(node, x, a, t)
        return x
    computed = x.astype(_computed(x.dtype).name)
    for a, t in taps.items():
        weights = Known(t.weights.astype(numpy_dtype(computed.dtype)), computed.dtype)
        computed = (
            _taken(node, computed, a, t)
            if t.chosen
            else written(_BETWEEN)(
                computed, node.run.tensor(Known.of(t.first)), node.run.tensor(weights), axis=a
            )
        )
    rounds = x.dtype.is_int and (way.antialias or way.mode == "cubic")
    return (each("round", "round({0})", computed) if rounds else computed).astype(x.dtype.name)


def _taken(node: Node, x: Any, axis: int, taps: _Taps) -> Any:
    """Elements of an axis as they are."""
    if np.array_equal(taps.first, np.arange(x.shape[axis])):
        return x
    return written(_NEAR)(x, node.run.tensor(Known.of(taps.first)), axis=axis)


def _computed(t: DType) -> DType:
    """The dtype of sums of elements."""
    return wide(t) if t.is_float else F64 if t.bits >= 32 else F32
