"""Vectors that run backwards through memory: loaded and stored whole, their lanes turned."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import texpr as tx

TYPES = {"f32": "f4", "f64": "f8", "i8": "i1", "bool": "?", "bf16": "u2"}


STEPS = [
    's.vectorize("i")',
    's.split("i", 16).vectorize("ii")',
    's.split("i", 24, tail="peel").vectorize("ii")',
    "s.auto()",
]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("dtype", TYPES)
def test_reads_and_writes(dtype, steps):
    for text in ("Y[i] = X[N - 1 - i]", "Y[N - 1 - i] = X[i]  for i in 0..N"):
        op = tx.op(f"op f(X: {dtype}[N]) -> Y: {dtype}[N] {{ {text} }}")
        for n in (7, 33):
            X = np.random.default_rng(n).integers(0, 2, n).astype(TYPES[dtype])
            kernel = eval(steps, {"s": tx.schedule(op, N=n)}).compile()
            assert (kernel(X) == X[::-1]).all()
            assert "gather" not in kernel.asm and "scatter" not in kernel.asm


def test_lanes_that_are_off_may_lie_in_front_of_memory():
    op = tx.op("op f(X: f32[N], K: i32[]) -> Y: f32[N] { Y[i] = if i < K then X[N - 1 - i] else 0 }")
    page = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    X = np.frombuffer(page, np.float32, 20, mmap.PAGESIZE)
    X[:] = np.arange(20)
    s = tx.schedule(op, N=20).split("i", 16).vectorize("ii")
    assert (s.compile()(X, np.array(20, np.int32)) == X[::-1]).all()


def test_a_sum_along_a_row_and_against_it():
    """Of growing length, as Levinson's recursion has it: no gathers."""
    op = tx.op("op f(A: f64[N], B: f64[N]) -> Y: f64[N] { Y[k] = sum(i in 0..k: A[k - 1 - i] * B[i]) }")
    a, b = np.random.default_rng(0).standard_normal((2, 200))
    s = tx.schedule(op, N=200).auto()
    kernel = s.compile()
    assert s.certificate() and "gather" not in kernel.asm
    np.testing.assert_allclose(kernel(a, b), [a[:k][::-1] @ b[:k] for k in range(200)], atol=1e-12)
