"""Fourier transforms of one axis and of parts of a signal: products with matrices that are known
when the program is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import written
from texpr.onnx.validation import refuse_large
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


@converter("STFT", known=(1, 3))
def _short_time(node: Node, x: Any, _: Any, window: Any = None, __: Any = None) -> Any:
    """Spectra of parts of a signal, each times a window: real signals are [batch, length, 1] or
    [batch, length], others have two numbers at the end.
    """
    x = x.expand_dims(2) if x.ndim == 2 else x
    batch, length, numbers = x.shape
    given = window.shape[0] if window is not None else length
    step, n = int(node.one(1)), int(node.one(3, given))
    if step < 1 or not 1 <= n <= length or n != given and window is not None or numbers not in (1, 2):
        raise node.refuse(f"parts of {n} of a signal {list(x.shape)}, {step} apart, window of {given}")
    half = bool(node.attr("onesided", 1)) and numbers == 1
    rows, count = n // 2 + 1 if half else n, (length - n) // step + 1
    angle = -2 * np.pi * np.outer(np.arange(rows), np.arange(n)) / n
    c, s = (node.run.tensor(Known.rounded(f(angle), x.dtype)) for f in (np.cos, np.sin))
    w = node.run.tensor(Known.rounded(np.ones(n), x.dtype)) if window is None else window
    t, part = x.dtype, f"G[b, f, k] = w[k] * X[b, {step} * f + k, 0]"
    real, imaginary = "sum(k: C[r, k] * G[b, f, k])", "sum(k: S[r, k] * G[b, f, k])"
    lets = f"let G: {t}[{batch}, {count}, {n}]  {part}"
    if numbers == 2:
        lets += f"  let H: {t}[{batch}, {count}, {n}]  {part.replace('G[', 'H[').replace(', 0]', ', 1]')}"
        real += " - sum(k: S[r, k] * H[b, f, k])"
        imaginary += " + sum(k: C[r, k] * H[b, f, k])"
    found = f"{t}[{batch}, {count}, {rows}]"
    both = written(
        f"op stft(X: {t}[{batch}, {length}, {numbers}], w: {t}[{n}], C: {t}[{rows}, {n}], "
        f"S: {t}[{rows}, {n}]) -> (R: {found}, I: {found}) {{ {lets}  R[b, f, r] = {real}  "
        f"I[b, f, r] = {imaginary} }}"
    )(x, w, c, s)
    return ops.stack(both, axis=3)


@converter("MelWeightMatrix", known=(0, 1, 2, 3, 4))
def _mel(node: Node, *_: Any) -> Any:
    """Triangles over a spectrum, equally wide by mel(f) = 2595 log10(1 + f/700). O'Shaughnessy,
    Speech Communication, 1987.
    """
    bands, n, rate = (int(node.one(k)) for k in range(3))
    low, high = (2595 * np.log10(1 + float(node.one(k)) / 700) for k in (3, 4))
    if bands < 0 or n < 1 or rate < 1 or not np.isfinite([low, high]).all():
        raise node.refuse(f"{bands} bands of {n} samples, {rate} of them a second")
    t, bins = node.dtype("output_datatype"), n // 2 + 1
    refuse_large(node.op, [bins, bands], t, True)
    mels = np.arange(bands + 2) * ((high - low) / (bands + 2)) + low
    edges = (700 * (10 ** (mels / 2595) - 1) * (n + 1) // rate).astype(np.int64)
    k, (first, middle, last) = np.arange(bins)[:, None], (edges[i : i + bands] for i in range(3))
    up = (k - first) / np.maximum(middle - first, 1)
    down = (last - k) / np.maximum(last - middle, 1)
    found = np.where((k >= first) & (k < middle), up, np.where((k >= middle) & (k < last), down, 0))
    return Known.rounded(np.where(k == middle, 1, found), t)
