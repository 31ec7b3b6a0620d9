"""The machine's peak arithmetic and bandwidths, measured: no kernel is faster.

Source: Williams, Waterman and Patterson, Roofline: An Insightful Visual Performance Model, 2009.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from texpr.compiler import Op, op
from texpr.ir.dtypes import F64, DType

SIZES = (1 << 16, 1 << 20, 1 << 26)
"""Bytes of working sets for which bandwidth is measured: within the first caches, within the
last ones, beyond them.
"""
_TERMS = 48


@lru_cache(maxsize=8)
def peak(dtype: DType, threads: int) -> float:
    """Float operations per second: the better of a long polynomial of numbers in the cache, and a
    matrix product.

    Args:
        dtype: f64, or anything else for f32.
        threads: that are used now; figures are remembered for each number of them.
    """
    t, numpy = ("f64", np.float64) if dtype == F64 else ("f32", np.float32)
    count, n = 4096 * threads, 384
    text = "X[i]"
    for _ in range(_TERMS):
        text = f"({text} * X[i] + c)"
    polynomial = op(f"op polynomial(X: {t}[N], c: {t}) -> Y: {t}[N] {{ Y[i] = {text} }}")
    x, square = np.full(count, 0.5, numpy), np.full((n, n), 0.5, numpy)
    flat = _seconds(polynomial, x, numpy(0.5), out=np.empty_like(x))
    product = op(
        f"op product(A: {t}[M, K], B: {t}[K, N]) -> C: {t}[M, N] {{ C[i, j] = sum(k: A[i, k] * B[k, j]) }}"
    )
    return max(
        2 * _TERMS * count / flat, 2 * n**3 / _seconds(product, square, square, out=np.empty_like(square))
    )


@lru_cache(maxsize=8)
def bandwidths(threads: int) -> tuple[float, ...]:
    """Bytes per second that a copy reads and writes, for working sets of `SIZES`."""
    copy = op("op copied(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }")
    found = []
    for size in SIZES:
        x = np.ones(size // 8, np.float32)
        found.append(size / _seconds(copy, x, out=np.empty_like(x)))
    return tuple(found)


def least_seconds(operations: int, moved: int, dtype: DType, threads: int) -> tuple[float, str]:
    """The least time of a kernel, and its bound: "arithmetic" or "memory".

    Args:
        operations: floating point.
        moved: bytes of everything that is read or written, each once.
        dtype: of its elements.
    """
    rates = bandwidths(threads)
    rate = next((max(rates[k:]) for k, size in enumerate(SIZES) if moved <= size), rates[-1])
    by_memory, by_arithmetic = moved / rate, operations / peak(dtype, threads)
    return (by_arithmetic, "arithmetic") if by_arithmetic > by_memory else (by_memory, "memory")


def _seconds(run: Op, *arrays: object, out: np.ndarray) -> float:
    """The shortest of several runs."""
    call: Callable[[], object] = lambda: run(*arrays, out=out)  # noqa: E731
    call()
    times, until = [], time.perf_counter() + 0.05
    while len(times) < 5 or time.perf_counter() < until:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
