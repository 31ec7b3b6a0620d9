"""Products of few rows take the other operand by strips of columns, which stay in the second cache for all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.machine import Machine
from texpr.schedule import auto

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
WIDE = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


def script(m: int, n: int, k: int, machine: Machine = WIDE) -> str:
    return "".join(f"{step}\n" for step in auto(tx.schedule(tx.op(PRODUCT), M=m, N=n, K=k).kernel, machine)[0])


def test_a_picture(golden):
    golden(script(40, 1024, 1024))


@pytest.mark.parametrize(("shape", "expected"), [
    ((32, 1024, 1024), True), ((64, 768, 768), True), ((20, 1000, 1000), True),
    ((8, 1024, 1024), False),    # walks along rows
    ((96, 1024, 1024), False),   # many rows share a copy
    ((32, 4096, 1024), False),   # the operand comes from memory
    ((32, 64, 64), False),       # it is in the first cache
    ((32, 100, 1000), False),    # lanes of the last tile would have nothing to do
    ((32, 256, 4096), False),    # a strip would fill the second cache
])
def test_which(shape: tuple[int, int, int], expected: bool):
    text = script(*shape)
    assert ('reorder("C.jo", "C.io", "C.k", "C.ii", "C.ji")' in text) is expected
    assert ('cache_read("B"' in text or "C.joo" in text or shape[1:] == (64, 64)) is not expected


@pytest.mark.parametrize(("shape", "copied"), [((32, 1024, 1024), True), ((32, 1000, 1024), False), ((16, 1024, 1024), False)],
                         ids=["pages apart", "elsewhere", "fewer rows"])
def test_two_products_a_cycle_do_not_wait_for_rows_that_push_each_other_out(shape: tuple[int, int, int], copied: bool):
    assert [('cache_read("B"' in script(*shape, replace(WIDE, products=n))) for n in (1, 2)] == [False, copied]


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
@pytest.mark.parametrize("shape", [(32, 512, 256), (37, 500, 130)])
def test_results(shape: tuple[int, int, int], dtype: str):
    m, n, k = shape
    schedule = tx.schedule(tx.op(PRODUCT.replace("f32", dtype)), M=m, N=n, K=k)
    schedule.steps[:], schedule.kernel = auto(schedule.kernel, WIDE)
    assert 'reorder("C.jo"' in schedule.script() and schedule.certificate()
    generator = np.random.default_rng(n)
    A, B = (generator.integers(-9, 10, s).astype(np.dtype(dtype.replace("f", "float").replace("i", "int"))) for s in ((m, k), (k, n)))
    np.testing.assert_array_equal(schedule.compile()(A, B), A @ B)
