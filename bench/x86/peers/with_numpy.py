"""NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.x86.candidate import Candidate, Columns, Make
from bench.x86.rows import Arrays, Row


def columns(threads: int) -> Columns:
    """One column; the threads of its BLAS are set by the environment."""
    return {"numpy": KINDS}


def version() -> str:
    """Of the library."""
    return np.__version__


def gemm(row: Row, arrays: Arrays) -> Candidate:
    """With BLAS."""
    a, b = arrays.values()
    out = a @ b
    return Candidate(partial(np.matmul, a, b, out=out))


def softmax(row: Row, arrays: Arrays) -> Candidate:
    """Four passes in place."""
    x, out = arrays["X"], np.empty_like(arrays["X"])

    def run() -> np.ndarray:
        np.subtract(x, x.max(1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(1, keepdims=True), out=out)

    return Candidate(run)


def layernorm(row: Row, arrays: Arrays) -> Candidate:
    """Passes in place."""
    x, g, b = arrays.values()
    out = np.empty_like(x)

    def run() -> np.ndarray:
        np.subtract(x, x.mean(1, keepdims=True), out=out)
        deviation = np.einsum("ij,ij->i", out, out) / np.float32(x.shape[1])
        np.multiply(out, 1 / np.sqrt(deviation + np.float32(1e-5))[:, None], out=out)
        np.multiply(out, g, out=out)
        return np.add(out, b, out=out)

    return Candidate(run)


def rms_norm(row: Row, arrays: Arrays) -> Candidate:
    """Passes in place."""
    x, g = arrays.values()
    out = np.empty_like(x)

    def run() -> np.ndarray:
        np.multiply(x, _reciprocal_norm(x), out=out)
        return np.multiply(out, g, out=out)

    return Candidate(run)


def rms_norm_gradient(row: Row, arrays: Arrays) -> Candidate:
    """Of both inputs, written out by hand."""
    x, g, d = arrays.values()

    def run() -> tuple[np.ndarray, np.ndarray]:
        r = _reciprocal_norm(x)
        scaled = d * g
        along = np.einsum("ij,ij->i", scaled, x)[:, None] / np.float32(x.shape[1])
        return scaled * r - x * (r**3 * along), np.einsum("ij,ij,i->j", d, x, r[:, 0])

    return Candidate(run, lambda results: results[0])


def _reciprocal_norm(x: np.ndarray) -> np.ndarray:
    mean = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    return (1 / np.sqrt(mean + np.float32(1e-5)))[:, None]


def bias_relu(row: Row, arrays: Arrays) -> Candidate:
    """Two passes."""
    x, b = arrays.values()
    out = np.empty_like(x)

    def run() -> np.ndarray:
        np.add(x, b, out=out)
        return np.maximum(out, 0, out=out)

    return Candidate(run)


def transpose(row: Row, arrays: Arrays) -> Candidate:
    """A copy of a view."""
    x = arrays["X"]
    out = np.empty(x.shape[::-1], x.dtype)

    def run() -> np.ndarray:
        np.copyto(out, x.T)
        return out

    return Candidate(run)


def blur(row: Row, arrays: Arrays) -> Candidate:
    """Two passes over shifted views."""
    x, third = arrays["X"], np.float32(1 / 3)

    def run() -> np.ndarray:
        across = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * third
        return (across[:-2] + across[1:-1] + across[2:]) * third

    return Candidate(run)


def attention(row: Row, arrays: Arrays) -> Candidate:
    """Two products and a softmax."""
    return _attention(arrays, None)


def attention_causal(row: Row, arrays: Arrays) -> Candidate:
    """The same with a mask that is added."""
    seen = np.tri(row.shapes["Q"][1], dtype=bool)
    return _attention(arrays, np.where(seen, np.float32(0), np.float32(-np.inf)))


def _attention(arrays: Arrays, mask: np.ndarray | None) -> Candidate:
    q, k, v = arrays.values()
    scale = np.float32(q.shape[-1] ** -0.5)

    def run() -> np.ndarray:
        scores = q @ k.transpose(0, 2, 1) * scale
        if mask is not None:
            scores += mask
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        return scores @ v / scores.sum(-1, keepdims=True)

    return Candidate(run)


def _sum(axis: int | None) -> Make:
    return lambda row, arrays: Candidate(lambda: arrays["X"].sum(axis))


def add(row: Row, arrays: Arrays) -> Candidate:
    """Into an array that is there; written out, as handing on what is named takes Python long."""
    a, b = arrays.values()
    out = np.empty_like(a)
    return Candidate(lambda: np.add(a, b, out=out))


KINDS: dict[str, Make] = {
    "gemm": gemm,
    "gemm_batched": gemm,
    "softmax": softmax,
    "layernorm": layernorm,
    "rms_norm": rms_norm,
    "rms_norm_gradient": rms_norm_gradient,
    "bias_relu": bias_relu,
    "transpose": transpose,
    "blur": blur,
    "attention": attention,
    "attention_causal": attention_causal,
    "total": _sum(None),
    "row_sums": _sum(1),
    "column_sums": _sum(0),
    "add": add,
}
