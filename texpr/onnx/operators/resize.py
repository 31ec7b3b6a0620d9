"""Images of another size, and Fourier transforms: each axis is multiplied by a matrix that is known when the program is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import numpy_dtype
from texpr.onnx.run import Node
from texpr.onnx.table import converter
from texpr.onnx.texts import each, number, written
from texpr.onnx.values import Known

_ALONG = """op along_axis<T: float>(X: T[*A:axis, N, *B], W: T[M, N]; axis = 0) -> Y: T[*A, M, *B] {
  Y[*a, i, *b] = sum(k: W[i, k] * X[*a, k, *b])
}"""


_TRANSFORMS = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize",
               "tf_half_pixel_for_nn")
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _source(mode: str, scale: float, size: int, n: int, roi: tuple[float, float]) -> np.ndarray:
    """Where the elements of the result come from, by the coordinate transformation of ONNX's Resize."""
    i = np.arange(size, dtype=np.float64)
    if mode == "align_corners":
        return i * (n - 1) / (size - 1) if size > 1 else np.zeros(1)
    if mode == "asymmetric":
        return i / scale
    if mode == "pytorch_half_pixel" and size <= 1:
        return np.zeros(size)
    if mode == "half_pixel_symmetric":
        exact = scale * n
        return n / 2 * (1 - size / exact) + (i + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        start, end = roi
        return start * (n - 1) + i * (end - start) * (n - 1) / (size - 1) if size > 1 else np.array([0.5 * (start + end) * (n - 1)])
    return (i + 0.5) / scale - 0.5


def _rounded(x: np.ndarray, mode: str) -> np.ndarray:
    return {"floor": np.floor, "ceil": np.ceil, "round_prefer_ceil": lambda v: np.floor(v + 0.5)}.get(mode, lambda v: np.ceil(v - 0.5))(x)


def _filter(mode: str, a: float) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """A function of the distance and how far it reaches. Keys, Cubic Convolution Interpolation, 1981."""
    def linear(d: np.ndarray) -> np.ndarray:
        return np.maximum(1 - d, 0)

    def cubic(d: np.ndarray) -> np.ndarray:
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    return (linear, 1) if mode == "linear" else (cubic, 2)


def weights(node: Node, n: int, size: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
    """The matrix (size, n) that makes `size` elements of n."""
    transform = node.word("coordinate_transformation_mode", *_TRANSFORMS)
    at, mode = _source(transform, scale, size, n, roi), node.word("mode", "nearest", "linear", "cubic")
    matrix = np.zeros((size, n))
    rows = np.arange(size)
    if mode == "nearest":
        matrix[rows, np.clip(_rounded(at, node.word("nearest_mode", *_NEAREST)).astype(int), 0, n - 1)] = 1
    else:
        f, reach = _filter(mode, node.attr("cubic_coeff_a", -0.75))
        stretch = min(scale, 1.0) if node.attr("antialias", 0) else 1.0
        far = int(np.ceil(reach / stretch)) + 1
        total = np.zeros(size)
        for k in range(-far, far + 1):
            place = np.floor(at).astype(int) + k
            weight = f(np.abs(at - place) * stretch)
            if node.attr("exclude_outside", 0):
                weight = np.where((place >= 0) & (place < n), weight, 0)
            total += weight
            np.add.at(matrix, (rows, np.clip(place, 0, n - 1)), weight)
        matrix /= total[:, None]
    if transform == "tf_crop_and_resize":
        matrix[(at < 0) | (at > n - 1)] = np.nan
    return matrix


@converter("Resize", "Upsample", known=(1, 2, 3))
def _resize(node: Node, x: Any, *_: Any) -> Any:
    if not x.size:
        raise node.refuse(f"an image of {list(x.shape)} has no elements")
    old = node.op == "Upsample" or node.version < 11
    scales = node.attr("scales") if node.has("scales") else node.known(1 if old else 2)
    sizes, roi = None if old else node.ints(3), None if old else node.known(1)
    chosen = [a % x.ndim for a in (node.attr("axes") or range(x.ndim))]
    if old:
        node = _Asymmetric(node)  # type: ignore[assignment]
    if sizes is not None:
        factors = [s / x.shape[a] for s, a in zip(sizes, chosen)]
        policy = node.word("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
        if policy != "stretch":
            factors = [(min if policy == "not_larger" else max)(factors)] * len(factors)
            sizes = [int(np.floor(f * x.shape[a] + 0.5)) for f, a in zip(factors, chosen)]
    else:
        factors = [float(v) for v in np.ravel(scales)]
        sizes = [int(np.floor(f * x.shape[a])) for f, a in zip(factors, chosen)]
    crop = node.word("coordinate_transformation_mode", *_TRANSFORMS) == "tf_crop_and_resize"
    t, computed = x.dtype, x if x.dtype.is_float else x.astype("f32")
    for k, (a, size, scale) in enumerate(zip(chosen, sizes, factors)):
        span = (float(roi[k]), float(roi[k + len(chosen)])) if crop and roi is not None else (0.0, 1.0)
        matrix = weights(node, x.shape[a], size, scale, span)
        if size != x.shape[a] or not np.array_equal(matrix, np.eye(size)):
            constant = Known(matrix.astype(numpy_dtype(computed.dtype)), computed.dtype)
            computed = written(_ALONG)(computed, node.run.tensor(constant), axis=a)
    if crop:
        outside = computed.isnan()
        computed = each("outside", f"if {{0}} then {number(node.attr('extrapolation_value', 0.0))} else {{1}}", outside, computed,
                        result=computed.dtype)
    return computed if t == computed.dtype else computed.astype(t.name)


class _Asymmetric:
    """A node of an version before 11 with the attributes that say the same in the new ones."""

    def __init__(self, node: Node) -> None:
        self.run = node.run
        self._values = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor",
                        "mode": node.word("mode", "nearest", "linear", "cubic")}

    def attr(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def word(self, name: str, default: str, *_: str) -> str:
        return self._values.get(name, default)


@converter("DFT", known=(1, 2))
def _fourier(node: Node, x: Any, *_: Any) -> Any:
    axis = node.attr("axis", 1) if node.version < 20 else int(node.known(2)) if node.known(2) is not None else -2
    axis, inverse, one = axis % x.ndim, bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    length = node.known(1)
    half = one and inverse
    n = int(length) if length is not None else (2 * (x.shape[axis] - 1) if half else x.shape[axis])
    held = min(x.shape[axis], n // 2 + 1 if half else n)
    x = x[(*[slice(None)] * axis, slice(0, held))]
    rows = n // 2 + 1 if one and not inverse else n
    angle = (2 if inverse else -2) * np.pi * np.outer(np.arange(rows), np.arange(held)) / n
    factor = np.ones(held) / (n if inverse else 1)
    if half:  # the other half of a spectrum of real numbers is the conjugate of this one
        factor = factor * np.where((np.arange(held) == 0) | ((n % 2 == 0) & (np.arange(held) == n // 2)), 1, 2)
    t = numpy_dtype(x.dtype)
    c, s = (node.run.tensor(Known.of((f(angle) * factor).astype(t))) for f in (np.cos, np.sin))
    re = x[..., 0]
    im = x[..., 1] if x.shape[-1] == 2 else None

    def along(v: Any, w: Any) -> Any:
        return written(_ALONG)(v, w, axis=axis)

    real = along(re, c) if im is None else along(re, c) - along(im, s)
    if half:
        return real.expand_dims(-1)
    imaginary = along(re, s) if im is None else along(re, s) + along(im, c)
    return ops.stack(real, imaginary, axis=real.ndim)
