"""Products of few rows take the other operand by strips of columns, which stay in the second
cache for all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
WIDE = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


TWICE = replace(WIDE, fma_per_cycle=2)


def script(m: int, n: int, k: int, machine: Machine = WIDE) -> str:
    return "".join(
        f"{step}\n" for step in auto(tx.schedule(tx.op(PRODUCT), M=m, N=n, K=k).kernel, machine)[0]
    )


def test_a_picture(golden):
    golden(script(40, 1024, 1024))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((32, 1024, 1024), True),
        ((64, 768, 768), True),
        ((20, 1000, 1000), True),
        ((8, 1024, 1024), False),  # walks along rows
        ((96, 1024, 1024), False),  # many rows share a copy
        ((32, 4096, 1024), False),  # the operand comes from memory
        ((32, 64, 64), False),  # it is in the first cache
        ((32, 100, 1000), False),  # lanes of the last tile would have nothing to do
        ((32, 256, 4096), False),  # a strip would fill the second cache
    ],
)
def test_which(shape: tuple[int, int, int], expected: bool):
    text = script(*shape)
    assert ('reorder("C.jo", "C.io", "C.k", "C.ii", "C.ji")' in text) is expected
    assert ('cache_read("B"' in text or "C.joo" in text or shape[1:] == (64, 64)) is not expected


def test_a_picture_of_a_copy_on_the_way(golden):
    """Two products begin in a cycle: the first tile of rows fills a panel, the others read it."""
    golden(script(40, 1024, 1024, TWICE))


ON_THE_WAY = 'compute_at("B_cache", "C.ki", recompute=False)'


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((32, 1024, 1024), True),
        ((16, 1024, 1024), True),
        ((64, 768, 768), True),
        ((20, 1000, 1000), True),
        ((32, 4096, 1024), True),
        ((32, 1024, 60), True),  # all terms are one block
        ((8, 1024, 1024), False),  # walks along rows
        ((96, 1024, 1024), False),  # many rows share a copy
        ((32, 160, 160), False),  # the operand is near
        ((32, 100, 2000), False),  # lanes of the last tile would have nothing to do
        ((32, 1024, 1021), False),  # no blocks of terms are equal
    ],
)
def test_which_are_copied_on_the_way(shape: tuple[int, int, int], expected: bool):
    text = script(*shape, TWICE)
    assert (ON_THE_WAY in text or 'compute_at("B_cache", "C.k", recompute=False)' in text) is expected
    assert "compute_at" not in script(*shape)


def test_more_rows_are_where_loads_across_lines_are_dear():
    assert [ON_THE_WAY in script(128, 1024, 1024, replace(TWICE, split_load_cost=n)) for n in (1, 2)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("rows", "columns", "terms"), [(96, 196, 576), (64, 169, 512), (33, 169, 256)])
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_cores_take_rows_of_one_panel(rows: int, columns: int, terms: int, cores: int):
    """A loop over one block of columns would leave all but one core without work."""
    text = script(rows, columns, terms, replace(WIDE, cores=cores))
    assert ('parallel("C.ioo")' in text or 'parallel("C.io")' in text) is (cores > 1)
    assert ('parallel("B_cache' in text) is (cores > 1)


def test_small_copies_are_not_shared():
    """Threads would take longer to begin than a copy of 2,112 elements takes."""
    assert 'parallel("B_cache' not in script(96, 132, 16)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_cores_take_strips(cores: int):
    text = script(32, 1024, 1024, replace(TWICE, cores=cores))
    assert ('parallel("C.joo")' in text) is (cores > 1) and (
        f'split("C.jo", {-(-16 // cores)}, tail="clip")' in text
    ) is (cores > 1)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
@pytest.mark.parametrize(
    ("shape", "machine"),
    [
        ((32, 512, 256), WIDE),
        ((37, 500, 130), WIDE),
        ((37, 500, 520), TWICE),
        ((18, 520, 520), replace(TWICE, cores=1)),
    ],
)
def test_results(shape: tuple[int, int, int], machine: Machine, dtype: str):
    m, n, k = shape
    schedule = tx.schedule(tx.op(PRODUCT.replace("f32", dtype)), M=m, N=n, K=k)
    schedule.steps[:], schedule.kernel = auto(schedule.kernel, machine)
    assert (
        'reorder("C.jo"' if machine is WIDE else "recompute=False"
    ) in schedule.script() and schedule.certificate()
    generator = np.random.default_rng(n)
    A, B = (
        generator.integers(-9, 10, s).astype(np.dtype(dtype.replace("f", "float").replace("i", "int")))
        for s in ((m, k), (k, n))
    )
    np.testing.assert_array_equal(schedule.compile()(A, B), A @ B)


@pytest.mark.parametrize("columns", [40, 41, 46, 47])
def test_lanes_that_are_less_than_a_tile_are_filled_up(columns: int):
    """What is left over of no tile had loops without registers for its sums."""
    text = "op f(A: f32[M, K], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[j, k]) }"
    s = tx.schedule(tx.op(text), M=128, N=columns, K=400)
    steps = auto(s.kernel, replace(WIDE, cores=1))[0]
    assert 'split("C.j", 48, tail="pad")' in map(str, steps)
    a, b = (np.random.default_rng(k).normal(size=(n, 400)).astype("f4") for k, n in enumerate((128, columns)))
    np.testing.assert_allclose(s.auto().compile()(a, b), a @ b.T, rtol=1e-4, atol=1e-4)
