"""Masked loads for AVX-512 keep their mask: LLVM 22 may take it off where they were operands of
masked arithmetic.
"""

from __future__ import annotations

import re

import pytest

import texpr as tx

PREFIXES = """op f(X: {t}[N], I: i64[B] in 0..N + 1) -> Y: {t}[B] require B >= 2, N >= 3 {{
  Y[b] = {fold}(k in 0..I[b + 1 | 3]: X[k])
}}"""


@pytest.mark.parametrize(
    "t, fold", [("f32", "sum"), ("f64", "sum"), ("i32", "sum"), ("f32", "prod"), ("i64", "prod")]
)
def test_loads_under_a_mask_have_it(t: str, fold: str):
    s = tx.schedule(tx.op(PREFIXES.format(t=t, fold=fold)), B=6, N=5).auto("x86-64-v4")
    kernel = s.compile("x86-64-v4")
    assert "masked.load" in kernel.llvm and 'asm ""' in kernel.llvm
    size = int(t[1:]) // 8
    indexed = re.findall(rf"^\s+v\w+\s+[^\n]*\(%\w+,%\w+(?:,{size})?\)[^\n]*$", kernel.asm, re.M)
    vectors = [line for line in indexed if re.search(r"%[yz]mm", line)]
    assert vectors and all("{%k" in line for line in vectors), vectors


@pytest.mark.parametrize("t", ["f32", "f64", "f16", "i8", "i64"])
@pytest.mark.parametrize("lanes", [2, 3, 5, 12, 24, 40])
def test_any_number_of_lanes(lanes: int, t: str):
    """Registers have a power of two of lanes, and vectors may be several of them."""
    op = tx.op(f"op f(X: {t}[N], n: i64) -> Y: {t}[N] {{ Y[i] = if i < n then X[i] else 0 }}")
    kernel = tx.schedule(op).vectorize("i", lanes, tail="mask").compile("x86-64-v4")
    assert 'asm ""' in kernel.llvm and "{%k" in kernel.asm
