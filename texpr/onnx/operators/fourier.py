"""Fourier transforms of one axis: products with matrices that are known when the program is
made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import written
from texpr.onnx.values import Known

_ALONG = """op along_axis<T: float>(X: T[*A:axis, N, *B], W: T[M, N]; axis = 0) -> Y: T[*A, M, *B] {
  Y[*a, i, *b] = sum(k: W[i, k] * X[*a, k, *b])
}"""


@converter("DFT", known=(1, 2))
def _fourier(node: Node, x: Any, *_: Any) -> Any:
    axis = node.attr("axis", 1) if node.version < 20 else int(node.one(2, -2))
    axis, inverse, one = (
        node.axis(axis, x.ndim),
        bool(node.attr("inverse", 0)),
        bool(node.attr("onesided", 0)),
    )
    length = node.one(1)
    half = one and inverse
    n = int(length) if length is not None else (2 * (x.shape[axis] - 1) if half else x.shape[axis])
    held = min(x.shape[axis], n // 2 + 1 if half else n)
    x = x[(*[slice(None)] * axis, slice(0, held))]
    rows = n // 2 + 1 if one and not inverse else n
    angle = (2 if inverse else -2) * np.pi * np.outer(np.arange(rows), np.arange(held)) / n
    factor = np.ones(held) / (n if inverse else 1)
    if half:  # the other half of a spectrum of real numbers is the conjugate of this one
        factor = factor * np.where(
            (np.arange(held) == 0) | ((n % 2 == 0) & (np.arange(held) == n // 2)), 1, 2
        )
    c, s = (node.run.tensor(Known.rounded(f(angle) * factor, x.dtype)) for f in (np.cos, np.sin))
    re = x[..., 0]
    im = x[..., 1] if x.shape[-1] == 2 else None

    def along(v: Any, w: Any) -> Any:
        return written(_ALONG)(v, w, axis=axis)

    real = along(re, c) if im is None else along(re, c) - along(im, s)
    if half:
        return real.expand_dims(-1)
    imaginary = along(re, s) if im is None else along(re, s) + along(im, c)
    return ops.stack(real, imaginary, axis=real.ndim)
