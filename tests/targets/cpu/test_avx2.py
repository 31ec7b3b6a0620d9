"""AVX2 gets no instruction of AVX-512: floats of 16 bits are as many f32 as fill 512 bits."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.compiler.pass_pipeline import build
from texpr.targets import find_target

BODIES = {
    "extremes": "op f(X: {t}[N], Z: {t}[N]) -> (hi: {t}[N], lo: {t}[N]) {{ hi[i] = max(X[i], Z[i])  lo[i] = "
    "min(X[i], Z[i]) }}",
    "extremes of rows": "op f(X: {t}[M, N]) -> Y: {t}[M] {{ Y[i] = max(j: X[i, j]) }}",
    "extremes of columns": "op f(X: {t}[M, N]) -> Y: {t}[N] {{ Y[j] = max(i: X[i, j]) }}",
    "extremes as f32": "op f(X: {t}[M, N]) -> Y: f32[N] {{ Y[j] = max(i: f32(X[i, j])) }}",
    "softmax": "op f(X: {t}[M, N]) -> Y: {t}[M, N] {{ m[i] = max(j: X[i, j])  Y[i, j] = exp(X[i, j] - m[i]) "
    "}}",
    "absolute values": "op f(X: {t}[N]) -> Y: {t}[N] {{ Y[i] = abs(X[i]) + tanh(X[i]) }}",
}


@pytest.mark.parametrize("t", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", BODIES)
def test_no_intrinsic_of_a_later_processor(name: str, t: str):
    kernel = tx.schedule(tx.op(BODIES[name].format(t=t))).auto("x86-64-v3").compile("x86-64-v3")
    assert "avx512" not in kernel.text
    assert "zmm" not in kernel.asm


PACKED = """allow_fma("sums")
split("C.j", 16, tail="pad")
split("C.jo", {tiles}, tail="clip")
reorder("C.joo", "C.i", "C.joi", "C.k", "C.ji")
cache_read("B", "C.joo")
split("B_cache.d1", 16)
split("B_cache.d0", 8, tail="clip")
reorder("B_cache.d0o", "B_cache.d1o", "B_cache.d0i", "B_cache.d1i")
vectorize("B_cache.d1i")
layout("B_cache", "a b -> b/16 a b%16")
split("C.i", 6, tail="overlap")
reorder("C.io", "C.joi", "C.k", "C.ii", "C.ji")
unroll("C.ii")
vectorize("C.ji")
parallel("C.joo")"""
PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)


@pytest.mark.parametrize("m, k, n, tiles", [(128, 768, 3072, 5), (128, 1000, 777, 5), (64, 512, 1000, 6)])
def test_sums_stay_in_registers_beside_packing(m: int, k: int, n: int, tiles: int):
    """What the nest that packs an operand needs, masks of lanes among it, is in no register while
    sums fill these.
    """
    with_threads = replace(find_target("x86-64-v3"), native=True)
    kernel = tx.schedule(PRODUCT, M=m, K=k, N=n).replay(PACKED.format(tiles=tiles)).kernel
    code = build(kernel, with_threads).assembly
    tile = max(re.split(r"^\.LBB", code, flags=re.MULTILINE), key=lambda block: block.count("vfmadd"))
    assert tile.count("vfmadd") == 12
    assert not re.search(r"\(%rsp\), %ymm|%ymm\d+, -?\d*\(%rsp\)", tile)


@pytest.mark.parametrize("size", range(1, 16))
def test_stores_of_the_first_lanes_are_in_parts(size: int):
    """No store of lanes that are known asks a mask."""
    schedule = tx.schedule(tx.op("op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] * 2 }"), M=5, N=size)
    kernel = schedule.split("j", 16, tail="mask").vectorize("ji").compile("x86-64-v3")
    assert not re.search(r"vmaskmov\w+\s+%ymm\d+, %ymm\d+, \S*\(", kernel.asm), kernel.asm
    native = schedule.compile()
    x = np.arange(5 * size, dtype="f4").reshape(5, size)
    np.testing.assert_array_equal(native(x), x * 2)


@pytest.mark.parametrize(
    ("t", "kind"), [("bool", "?"), ("i8", "i1"), ("f16", "f2"), ("f64", "f8"), ("i64", "i8")]
)
def test_parts_of_other_elements(t: str, kind: str):
    """Bools are bytes in memory, and parts of a vector may stand at any address."""
    op = tx.op(f"op f(X: {t}[M, N]) -> Y: {t}[M, N] {{ Y[i, j] = X[i, j] }}")
    schedule = tx.schedule(op, M=3, N=13).split("j", 16, tail="mask").vectorize("ji")
    x = (np.arange(39) % 5).reshape(3, 13).astype(kind)
    np.testing.assert_array_equal(schedule.compile()(x), x)
