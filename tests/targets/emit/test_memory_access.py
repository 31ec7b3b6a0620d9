"""Lanes that are a few elements of memory apart, or that share elements, come
from runs of memory.
"""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

import texpr as tx

RANDOM = np.random.default_rng(0)
TEXT = """op f(X: {t}[N], m: f32[M]) -> (Y: {t}[M], Z: {t}[2*N], W: {t}[3*N]) require N >= 2*M - 1 {{
  Y[i] = if m[i] > 0 then X[2*i] else X[i]
  Z[i] = X[i//2]
  W[i] = X[i//3]
}}"""


@pytest.mark.parametrize("t", ["f32", "i64", "u8", "bool"])
@pytest.mark.parametrize("n", [1, 16, 33, 48])
def test_picked_lanes(t: str, n: int):
    m = (n + 1) // 2
    x = RANDOM.integers(0, 2 if t == "bool" else 100, n).astype(
        {"f32": "f4", "i64": "i8", "u8": "u1", "bool": "?"}[t]
    )
    mask = RANDOM.normal(size=m).astype("f4")
    kernel = tx.schedule(tx.op(TEXT.format(t=t)), N=n, M=m).auto().compile()
    y, z, w = kernel(x, mask)  # type: ignore[misc]
    np.testing.assert_array_equal(y, np.where(mask > 0, x[::2], x[:m]))
    np.testing.assert_array_equal(z, np.repeat(x, 2))
    np.testing.assert_array_equal(w, np.repeat(x, 3))


@pytest.mark.parametrize(
    "target", ["native", "x86-64-v3", "x86-64"]
)  # whose schedules have vectors of other lengths
@pytest.mark.parametrize("t", ["f32", "f64", "i16", "u8", "bool"])
@pytest.mark.parametrize("step", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("m", [1, 5, 16, 67])
def test_lanes_that_lie_apart(target: str, t: str, step: int, m: int):
    """With conditions and at the end of a row as well, and nothing behind the last element is
    asked for.
    """
    text = f"""op f(X: {t}[N], m: f32[M]) -> (Y: {t}[M], Z: {t}[M]) require N == {step}*M - {step - 1} {{
      Y[i] = X[{step}*i]
      Z[i] = if m[i] > 0 then X[{step}*i] else X[i]
    }}"""
    n = step * (m - 1) + 1
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    dtype = np.dtype({"f32": "f4", "f64": "f8", "i16": "i2", "u8": "u1", "bool": "?"}[t])
    x = np.frombuffer(memory, dtype, n, page - n * dtype.itemsize)
    x[:] = RANDOM.integers(0, 2 if t == "bool" else 100, n)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0) == 0
    mask = RANDOM.normal(size=m).astype("f4")
    s = tx.schedule(tx.op(text), N=n, M=m)
    try:
        y, z = s.auto(target).compile()(x, mask)  # type: ignore[misc]
        np.testing.assert_array_equal(y, x[::step])
        np.testing.assert_array_equal(z, np.where(mask > 0, x[::step], x[:m]))
    finally:
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 3)


@pytest.mark.parametrize("t", ["f32", "u8", "i16"])
def test_channels_are_read_by_whole_vectors(t: str):
    gray = tx.op(
        f"op gray(X: {t}[N, 3]) -> Y: f32[N] {{ Y[i] = f32(X[i, 0]) + 2*f32(X[i, 1]) + 3*f32(X[i, 2]) }}"
    )
    assert "gather" not in tx.schedule(gray, N=1000).auto("x86-64-v4").compile("x86-64-v4").llvm


def test_no_gathers_are_left():
    pooled = tx.op(
        "op p(X: f32[16, 32]) -> Y: f32[8, 16] { Y[i, j] = max(r in 0..2, q in 0..2: X[2*i + r, 2*j + q]) }"
    )
    assert "gather" not in tx.schedule(pooled).auto().compile("x86-64-v4").llvm


@pytest.mark.parametrize("length", [5, 7])
def test_short_rows_are_read_by_whole_vectors(length: int):
    largest = tx.op("op f(X: f32[N, M]) -> Y: f32[N] require M >= 1 { Y[i] = max(j: X[i, j]) }")
    s = tx.schedule(largest, N=1024, M=length).auto("x86-64-v4")
    assert "gather" not in s.compile("x86-64-v4").llvm and "rfactor" not in s.script()
    x = RANDOM.normal(size=(1024, length)).astype("f4")
    np.testing.assert_array_equal(s.compile()(x), x.max(1))
