"""Numba: loops as one would write them, with fast mathematics, parallel over the outermost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bench.x86.candidate import Candidate, Columns, Make
from bench.x86.rows import Arrays, Row

numba: Any = None


def columns(threads: int) -> Columns:
    """One column."""
    global numba
    import numba as library

    numba = library
    numba.set_num_threads(threads)
    jit = numba.njit(parallel=threads > 1, fastmath=True, error_model="numpy")
    loops = _matrix_loops(jit) | _sum_loops(jit)
    return {
        "numba": {kind: _of(loop) for kind, loop in loops.items()}
        | {"total": _total(loops["row_sums"]), "add": _add(numba.njit)}
    }


def version() -> str:
    """Of the library."""
    return numba.__version__


def _of(loop: Any) -> Make:
    """A loop that writes its result into its last argument."""

    def make(row: Row, arrays: Arrays) -> Candidate:
        x = arrays["X"]
        shape = {"row_sums": x.shape[:1], "blur": (x.shape[0] - 2, x.shape[1] - 2)}.get(row.kind, x.shape)
        out = np.empty(shape, x.dtype)
        return Candidate(partial(loop, *arrays.values(), out))

    return make


def _total(row_sums: Any) -> Make:
    def make(row: Row, arrays: Arrays) -> Candidate:
        x = arrays["X"]
        out = np.empty(x.shape[0], x.dtype)
        return Candidate(lambda: row_sums(x, out).sum())

    return make


def _add(jit: Any) -> Make:
    @jit
    def add(a, b, out):
        for i in range(a.shape[0]):
            out[i] = a[i] + b[i]
        return out

    def make(row: Row, arrays: Arrays) -> Candidate:
        a, b = arrays.values()
        out = np.empty_like(a)
        return Candidate(lambda: add(a, b, out))

    return make


def _matrix_loops(jit: Any) -> dict[str, Any]:
    prange, one = numba.prange, np.float32(1)
    c0, c1, half, eps = (
        np.float32(0.7978845608028654),
        np.float32(0.044715),
        np.float32(0.5),
        np.float32(1e-5),
    )

    @jit
    def softmax(x, out):
        for i in prange(x.shape[0]):
            m = x[i, 0]
            for j in range(x.shape[1]):
                m = max(m, x[i, j])
            s = np.float32(0)
            for j in range(x.shape[1]):
                e = np.exp(x[i, j] - m)
                out[i, j] = e
                s += e
            for j in range(x.shape[1]):
                out[i, j] *= one / s
        return out

    @jit
    def layernorm(x, g, b, out):
        n = np.float32(x.shape[1])
        for i in prange(x.shape[0]):
            s = np.float32(0)
            for j in range(x.shape[1]):
                s += x[i, j]
            m = s / n
            q = np.float32(0)
            for j in range(x.shape[1]):
                q += (x[i, j] - m) * (x[i, j] - m)
            r = one / np.sqrt(q / n + eps)
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - m) * r * g[j] + b[j]
        return out

    @jit
    def gelu_tanh(x, b, out):
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                v = x[i, j] + b[j]
                out[i, j] = half * v * (one + np.tanh(c0 * (v + c1 * v * v * v)))
        return out

    @jit
    def bias_relu(x, b, out):
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = max(x[i, j] + b[j], np.float32(0))
        return out

    return {"softmax": softmax, "layernorm": layernorm, "gelu_tanh": gelu_tanh, "bias_relu": bias_relu}


def _sum_loops(jit: Any) -> dict[str, Any]:
    prange, ninth = numba.prange, np.float32(1 / 9)

    @jit
    def row_sums(x, out):
        for i in prange(x.shape[0]):
            s = np.float32(0)
            for j in range(x.shape[1]):
                s += x[i, j]
            out[i] = s
        return out

    @jit
    def blur(x, out):
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = ninth * (
                    x[i, j]
                    + x[i, j + 1]
                    + x[i, j + 2]
                    + x[i + 1, j]
                    + x[i + 1, j + 1]
                    + x[i + 1, j + 2]
                    + x[i + 2, j]
                    + x[i + 2, j + 1]
                    + x[i + 2, j + 2]
                )
        return out

    return {"row_sums": row_sums, "blur": blur}
