"""`options(guard=...)`: kernels whose arrays stand beside a page that cannot be touched."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.guarded import SIDES, linked, run
from texpr.ir.loop import Kernel
from texpr.lang import parse_kernel
from texpr.support.options import from_environment

BESIDE = {
    "reads behind": ("end", "Y[i] = X[i + 1]"),
    "reads in front": ("begin", "Y[i] = X[i - 1]"),
    "writes behind": ("end", "Y[i + 1] = X[i]"),
    "writes in front": ("begin", "Y[i - 1] = X[i]"),
}


def run_beside(name: str, side: str) -> None:
    """Loops that leave an array by one element."""
    kernel = parse_kernel(f"kernel f(X: i32[N]) -> (Y: i32[N])\n  for i in 0..N\n    {BESIDE[name][1]}\n")
    with tx.options(guard=side):
        call(kernel, 5)


def run_buffer(index: str, side: str) -> None:
    """Loops that leave a buffer on the heap."""
    kernel = parse_kernel(f"""kernel f(X: i32[N]) -> (Y: i32[N])
  let T: i32[N]
  for i in 0..N
    T[i] = X[i]
  for i in 0..N
    Y[i] = T[{index}]
""")
    with tx.options(guard=side):
        call(kernel, 5)


def call(kernel: Kernel, n: int) -> None:
    entry, x, y = linked(kernel, "native"), np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(entry.address)(
        (ctypes.c_int64 * 3)(x.ctypes.data, y.ctypes.data, n)
    )


@pytest.mark.parametrize("name", BESIDE)
def test_one_element_outside_ends_the_process(name: str):
    with pytest.raises(AssertionError, match="the child process was ended by SIGSEGV\n\nwhat it ran"):
        run("tests.runtime.native.test_guard:run_beside", name, BESIDE[name][0], text="what it ran")


@pytest.mark.parametrize(("index", "side"), [("i + 1", "end"), ("i - 1", "begin")])
def test_buffers_of_kernels_stand_there_too(index: str, side: str):
    with pytest.raises(AssertionError, match="the child process was ended by SIGSEGV"):
        run("tests.runtime.native.test_guard:run_buffer", index, side)


def run_store_to_input() -> None:
    kernel = parse_kernel("kernel f(X: i32[N]) -> (Y: i32[N])\n  for i in 0..N\n    Y[i] = X[i]\n")
    with tx.options(guard="end"):
        call(replace(kernel, inputs=kernel.outputs, outputs=kernel.inputs), 5)


def test_inputs_cannot_be_written():
    with pytest.raises(AssertionError, match="the child process was ended by SIGSEGV"):
        run("tests.runtime.native.test_guard:run_store_to_input")


@pytest.mark.parametrize("side", SIDES)
def test_results_are_those_of_other_kernels(side: str):
    product = tx.op(
        "op product(A: f32[N, K], B: f32[K, M]) -> C: f32[N, M] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    random = np.random.default_rng(0)
    with tx.options(guard=side, specializations=1):
        for n in (0, 1, 5, 8, 33):
            a, b = (
                random.integers(-4, 5, (n, n + 1)).astype(np.float32),
                random.integers(-4, 5, (n + 1, 3)).astype(np.float32),
            )
            c = np.full((n, 3), 9, np.float32)
            np.testing.assert_array_equal(product(a, b), a @ b)
            assert product(a, b, out=c) is c
            np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("side", SIDES)
def test_captured_programs_and_tensors(side: str):
    with tx.options(guard=side):
        x = tx.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
        np.testing.assert_array_equal(
            np.asarray((x + 1) * x), (np.arange(12) ** 2 + np.arange(12)).reshape(3, 4)
        )
        double = tx.jit(lambda x: (x + x).sum(0))
        np.testing.assert_array_equal(np.asarray(double(x)), 2 * np.arange(12).reshape(3, 4).sum(0))


def test_an_output_in_the_memory_of_an_input():
    x = np.arange(50, dtype=np.float32)
    with tx.options(guard=True):
        twice = tx.op("op twice(x: f32[N]) -> y: f32[N] { y[i] = 2 * x[i] }")
        twice(x, out=x)
    np.testing.assert_array_equal(x, 2 * np.arange(50))


@pytest.mark.parametrize(
    ("text", "value"), [("1", "end"), ("begin", "begin"), ("end", "end"), ("0", ""), ("", "")]
)
def test_the_environment(text: str, value: str):
    assert from_environment({"TEXPR_GUARD": text}).guard == value


def test_other_sides():
    with pytest.raises(
        tx.CallError, match=re.escape("guard is 'middle', expected True, False, `end` or `begin`")
    ):
        tx.options(guard="middle")
