"""Time f32 matrix products: the naive nest, tiles without packing, the default schedule, and NumPy.

    python scripts/bench_matmul.py [--threads N] [size...]

Candidates take turns; the figure is the median of several turns, in GFLOP/s and in percent of what
the threads reach on a product that stays in the cache. With one thread, processor time is measured,
so that other load on the machine matters little.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import texpr as tx
from texpr.support.table import Table

matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
TILED = """contract()
split("j", 32, tail="peel")
split("i", 8, tail="peel")
reorder("io", "jo", "k", "ii", "ji")
unroll("ii")
vectorize("ji")
parallel("io")
"""
TURNS = 7
LEAST_SECONDS = 0.02
NAIVE_LIMIT = 1024
NEARBY = 128
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
NAMES = ("naive", "tiled", "auto", "NumPy")


def rates(
    functions: dict[str, Callable[[], object]], flops: int, clock: Callable[[], float]
) -> dict[str, float]:
    """GFLOP/s of each function: the median of its turns."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(TURNS):
        for name, function in functions.items():
            start, count = clock(), 0
            while count == 0 or clock() - start < LEAST_SECONDS:
                function()
                count += 1
            seconds[name].append((clock() - start) / count)
    return {name: flops / median(taken) / 1e9 for name, taken in seconds.items()}


def candidates(n: int) -> dict[str, Callable[[], object]]:
    """Calls that compute one product."""
    a, b = np.random.default_rng(0).standard_normal((2, n, n), dtype=np.float32)
    c = np.empty((n, n), np.float32)
    sizes = {"M": n, "N": n, "K": n}
    naive = tx.schedule(matmul, **sizes).compile()
    tiled = tx.schedule(matmul, **sizes).replay(TILED).compile()
    auto = tx.schedule(matmul, **sizes).auto().compile()
    found: dict[str, Callable[[], object]] = {"naive": lambda: naive(a, b, c)} if n <= NAIVE_LIMIT else {}
    return found | {
        "tiled": lambda: tiled(a, b, c),
        "auto": lambda: auto(a, b, c),
        "NumPy": lambda: np.matmul(a, b, out=c),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sizes", nargs="*", type=int, default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if os.environ.get(BLAS_THREADS) != str(
        options.threads
    ):  # OpenBLAS looks at it once, when NumPy is imported
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | {BLAS_THREADS: str(options.threads)}
        )
    tx.options(threads=options.threads)
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    peak = rates({"auto": candidates(NEARBY)["auto"]}, 2 * NEARBY**3, clock)["auto"]
    print(f"{options.threads} threads, {peak:.0f} GFLOP/s in the cache")
    table = Table({"n": ">5", **dict.fromkeys(NAMES, ">13")})
    print(table.header())
    for n in options.sizes:
        found = rates(candidates(n), 2 * n**3, clock)
        cells = (
            f"{found[name]:7.1f} {100 * found[name] / peak:4.0f}%" if name in found else "" for name in NAMES
        )
        print(table.row(n, *cells))


if __name__ == "__main__":
    main()
