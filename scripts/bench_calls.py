"""Time calls on 16 floats, where the work is next to nothing: best of several runs, in nanoseconds.

    python scripts/bench_calls.py
"""

from __future__ import annotations

import timeit

import numpy as np

import texpr as tx

add = tx.op("op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }")


def main() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 16), dtype=np.float32)
    c = np.empty_like(a)
    kernel = tx.schedule(add, N=16).auto().compile()
    bound = kernel.bind((a.shape, b.shape))
    names = {"a": a, "b": b, "c": c, "np": np, "add": add, "kernel": kernel, "bound": bound}
    for label, code in (("kernel bound to shapes, given output", "bound(a, b, c)"), ("kernel, given output", "kernel(a, b, c)"),
                        ("operator by name, given output", "add(a, b, c)"), ("operator by name, new output", "add(a, b)"),
                        ("NumPy, given output", "np.add(a, b, out=c)"), ("NumPy, new output", "a + b")):
        best = min(timeit.repeat(code, globals=names, number=20000, repeat=7)) / 20000
        print(f"{label:<38} {best * 1e9:6.0f} ns")


if __name__ == "__main__":
    main()
