"""Nests that stand beside each other have functions of their own on ARM and on x86 without AVX-512,
and give what they gave in one.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from texpr.ir.interpreter.tensor import interpret
from texpr.runtime.process import qemu

TWO = tx.op(
    "op two(X: f32[N, M], W: f32[M, M]) -> Y: f32[N, M] { T[i, j] = 2 * X[i, j]  Y[i, j] = sum(k: T[i, k] * "
    "W[k, j]) }"
)
BOTH = tx.op(
    "op both(A: f32[N, M, M], B: f32[N, M, M]) -> Y: f32[N] {\n"
    "  P[i] = sum(k, l: A[i, k, l])  Q[i] = sum(k, l: B[i, k, l])  Y[i] = P[i] * Q[i] }"
)
PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
TARGETS = (
    ("aarch64", "aarch64"),
    ("aarch64+sve", "aarch64"),
    ("a64fx", "aarch64"),
    ("armv7", "armv7"),
    ("x86-64-v3", "x86_64"),
)
everywhere = pytest.mark.parametrize("target, processor", TARGETS)


def needs(processor: str) -> None:
    """Skip a test where no emulator of the processor is installed."""
    if qemu.missing_tool(processor):
        pytest.skip(f"{qemu.missing_tool(processor)} is not installed")


def functions(kernel: tx.CompiledKernel) -> int:
    """How many nests have a function."""
    return len(set(re.findall(r"^define [^@]*@\"[^\"]*\.nest\d+\"", kernel.text, re.MULTILINE)))


@pytest.mark.qemu
@everywhere
def test_each_of_two_nests_has_one(target: str, processor: str):
    needs(processor)
    generator = np.random.default_rng(0)
    given = [generator.random(shape).astype(np.float32) for shape in ((7, 9), (9, 9))]
    kernel = tx.schedule(TWO).compile(target)
    assert functions(kernel) == 2
    np.testing.assert_allclose(kernel.emulate(*given), interpret(TWO.program(), given)[0], rtol=1e-5)


@pytest.mark.qemu
@everywhere
def test_large_buffers_of_nests_are_theirs(target: str, processor: str):
    """So many terms come in blocks: rows are packed, and sums fetched and put back, by nests in
    the loop over blocks.
    """
    needs(processor)
    generator = np.random.default_rng(0)
    a, b = (generator.random(shape).astype(np.float32) for shape in ((70, 2100), (2100, 90)))
    kernel = tx.schedule(PRODUCT, M=70, K=2100, N=90).auto(target).compile(target)
    assert functions(kernel)
    np.testing.assert_allclose(kernel.emulate(a, b), a @ b, rtol=1e-5)


@pytest.mark.parametrize("target", [target for target, _ in TARGETS])
def test_sums_of_nests_stay_in_registers(target: str):
    """What a nest adds to a sum of the loop around would go to memory if it were apart."""
    kernel = tx.schedule(BOTH).compute_at("P", "Y.i").compute_at("Q", "Y.i").compile(target)
    assert not functions(kernel)
