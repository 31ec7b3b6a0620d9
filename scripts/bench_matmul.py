"""Time f32 matrix products: the naive nest, the default schedule and NumPy, taken in turn; best of several runs, in GFLOP/s.

    python scripts/bench_matmul.py [size...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import texpr as tx

matmul = tx.op("op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }")


def rates(functions: dict[str, Callable[[], object]], flops: int, repeats: int) -> dict[str, float]:
    """GFLOP/s of each function."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: flops / seconds / 1e9 for name, seconds in best.items()}


def main(sizes: list[int]) -> None:
    print(f"{'n':>5} {'naive':>8} {'auto':>8} {'NumPy':>8}  auto/naive")
    for n in sizes:
        a, b = np.random.default_rng(0).standard_normal((2, n, n), dtype=np.float32)
        c = np.empty((n, n), np.float32)
        naive = tx.schedule(matmul, M=n, N=n, K=n).compile()
        auto = tx.schedule(matmul, M=n, N=n, K=n).auto().compile()
        calls = {"naive": lambda: naive(a, b, c), "auto": lambda: auto(a, b, c), "numpy": lambda: np.matmul(a, b, out=c)}  # noqa: B023
        found = rates(calls, 2 * n**3, 5)
        print(f"{n:>5} {found['naive']:>8.1f} {found['auto']:>8.1f} {found['numpy']:>8.1f}  {found['auto'] / found['naive']:.0f}x")


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [128, 256, 512, 1024])
