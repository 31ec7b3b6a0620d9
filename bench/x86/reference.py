"""What results are compared with: a part of each, computed in f64 by definition.

A function gives the positions of the part, as an index, and the values there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Constants = Mapping[str, int]
Part = tuple[Any, np.ndarray]
PARTS = 3


def _some(n: int) -> list[int]:
    """The first, the last, and one between."""
    return sorted({0, n // PARTS, n - 1})


def gemm(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of a product."""
    rows = _some(arrays["A"].shape[-2])
    return (..., rows, slice(None)), arrays["A"][..., rows, :].astype("f8") @ arrays["B"].astype("f8")


def conv(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of the last image."""
    X, F, stride, pad = arrays["X"][-1].astype("f8"), arrays["F"].astype("f8"), constants["S"], constants["P"]
    padded = np.pad(X, ((0, 0), (pad, pad), (pad, pad)))
    height, window = X.shape[1], F.shape[-1]
    out = (height + 2 * pad - window) // stride + 1
    lines = []
    for y in _some(out):
        band = padded[:, stride * y : stride * y + window]
        patches = np.stack([band[:, :, stride * x : stride * x + window] for x in range(out)], -1)
        lines.append(
            np.einsum("crqx,kcrq->kx", patches, F) if F.ndim == 4 else np.einsum("crqx,crq->cx", patches, F)
        )
    return (-1, slice(None), _some(out)), np.stack(lines)


def softmax(arrays: Arrays, constants: Constants) -> Part:
    """Some rows."""
    x = arrays["X"][rows := _some(len(arrays["X"]))].astype("f8")
    e = np.exp(x - x.max(1, keepdims=True))
    return rows, e / e.sum(1, keepdims=True)


def layernorm(arrays: Arrays, constants: Constants) -> Part:
    """Some rows."""
    x = arrays["X"][rows := _some(len(arrays["X"]))].astype("f8")
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return rows, normal * arrays["g"] + arrays["b"]


def gelu(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of the exact form."""
    v = arrays["X"][rows := _some(len(arrays["X"]))].astype("f8") + arrays["b"]
    return rows, 0.5 * v * (1 + np.vectorize(erf)(v / np.sqrt(2)))


def gelu_tanh(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of the form with tanh."""
    v = arrays["X"][rows := _some(len(arrays["X"]))].astype("f8") + arrays["b"]
    return rows, 0.5 * v * (1 + np.tanh(0.7978845608028654 * (v + 0.044715 * v**3)))


def rms_norm(arrays: Arrays, constants: Constants) -> Part:
    """Some rows."""
    x = arrays["X"][rows := _some(len(arrays["X"]))].astype("f8")
    return rows, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * arrays["g"]


def rms_norm_gradient(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of the gradient of the matrix."""
    rows = _some(len(arrays["X"]))
    x, d = arrays["X"][rows].astype("f8"), arrays["dY"][rows] * arrays["g"].astype("f8")
    r = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
    return rows, d * r - x * r**3 * (d * x).mean(1, keepdims=True)


def attention(arrays: Arrays, constants: Constants) -> Part:
    """Some heads."""
    return _attention(arrays, 0.0)


def attention_causal(arrays: Arrays, constants: Constants) -> Part:
    """Some heads, where row i sees the first i + 1 columns."""
    length = arrays["Q"].shape[1]
    return _attention(arrays, np.where(np.tri(length, dtype=bool), 0.0, -np.inf))


def _attention(arrays: Arrays, mask: np.ndarray | float) -> Part:
    heads = _some(len(arrays["Q"]))
    q, k, v = (arrays[name][heads].astype("f8") for name in "QKV")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return heads, e / e.sum(-1, keepdims=True) @ v


def blur(arrays: Arrays, constants: Constants) -> Part:
    """Some rows of means of 3 x 3."""
    x, rows = arrays["X"].astype("f8"), _some(len(arrays["X"]) - 2)
    across = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return rows, np.stack([across[i : i + 3].mean(0) for i in rows])


def _whole(compute: Callable[[Arrays], np.ndarray]) -> Callable[[Arrays, Constants], Part]:
    return lambda arrays, constants: (..., compute(arrays))


REFERENCES: dict[str, Callable[[Arrays, Constants], Part]] = {
    "gemm": gemm,
    "gemm_batched": gemm,
    "gemm_int8": gemm,
    "gemm_bf16": gemm,
    "conv": conv,
    "depthwise": conv,
    "softmax": softmax,
    "layernorm": layernorm,
    "rms_norm": rms_norm,
    "rms_norm_gradient": rms_norm_gradient,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "attention": attention,
    "attention_causal": attention_causal,
    "blur": blur,
    "bias_relu": _whole(lambda a: np.maximum(a["X"].astype("f8") + a["b"], 0)),
    "transpose": _whole(lambda a: a["X"].T.astype("f8")),
    "total": _whole(lambda a: a["X"].sum(dtype="f8")),
    "row_sums": _whole(lambda a: a["X"].sum(1, dtype="f8")),
    "column_sums": _whole(lambda a: a["X"].sum(0, dtype="f8")),
    "add": _whole(lambda a: a["A"].astype("f8") + a["B"]),
}
"""By the kind of the row."""
