"""What the default schedule gives each core, and what it asks memory for ahead of time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.autoschedule.cpu.gemm.work_split import busiest_of
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine
from texpr.targets.common.instruction_names import transposes

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
SWEEPS = """
op sweeps(A: f64[N]; T) -> C: f64[N] require T >= 0 {
  let U: f64[T + 1, N]
  U[0, i] = A[i]
  U[t + 1, i] = if i >= 1 and i + 1 < N then 0.5 * (U[t, i - 1] + U[t, i + 1]) else U[t, i]  for t in 0..T
  C[i] = U[T, i]
}
"""
NEAR = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


def script(text: str, machine: Machine = NEAR, **sizes: int) -> list[str]:
    return [str(step) for step in auto(tx.schedule(tx.op(text), **sizes).kernel, machine)[0]]


@given(st.integers(1, 200), st.integers(1, 12), st.integers(1, 16))
def test_the_busiest_core_has_as_many_tiles_as_counting_says(tiles, block, cores):
    loads = [0] * cores
    for k, first in enumerate(range(0, tiles, block)):
        loads[k % cores] += min(block, tiles - first)
    assert busiest_of(tiles, block, cores) == max(loads)


@pytest.mark.parametrize(
    ("columns", "cores", "tiles"),
    [
        (1008, 1, 3),
        (1008, 2, 2),  # of 21 tiles in threes, one of two cores would have 12, in pairs 11
        (1024, 2, 2),
    ],
)  # 16 tiles, wider ones
def test_cores_have_tiles_alike(columns, cores, tiles):
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=cores)
    assert f'split("C.jo", {tiles}, tail="clip")' in script(PRODUCT, machine, M=1000, N=columns, K=1001)


@pytest.mark.parametrize(
    ("rows", "terms", "ahead"),
    [
        (8000, 200, True),
        (8000, 1024, False),  # rows whole pages apart push each other out of the first cache
        (500, 200, False),
    ],
)  # the second cache holds them
def test_rows_from_memory_are_asked_for_a_tile_early(rows, terms, ahead):
    assert 'prefetch("A", "C.ioi", 1)' not in script(
        PRODUCT, replace(NEAR, fma_per_cycle=2), M=rows, N=64, K=terms
    )
    steps = script(PRODUCT, M=rows, N=64, K=terms)
    assert ('prefetch("A", "C.ioi", 1)' in steps) is ahead
    assert not ahead or steps.index('prefetch("A", "C.ioi", 1)') < steps.index('unroll("C.ii")')


@pytest.mark.parametrize(
    ("crossings", "size", "tile"), [(1, 84, (7, 48)), (2, 84, (14, 32)), (1, 64, (8, 32)), (2, 64, (13, 32))]
)
def test_rows_of_a_tile_share_loads_that_cross_lines(crossings, size, tile):
    """Taller tiles load less; the last one, which computes rows twice, costs less than what that
    saves.
    """
    steps = script(
        PRODUCT, replace(NEAR, cores=1, fma_per_cycle=2, split_load_cost=crossings), M=size, N=size, K=size
    )
    assert f'split("C.j", {tile[1]}, tail="peel")' in steps
    assert f'split("C.i", {tile[0]}, tail="overlap")' in steps


@pytest.mark.parametrize(
    ("crossings", "rows", "size", "copied"),
    [
        (1, 320, 320, False),  # comes from the second cache fast enough
        (2, 320, 320, True),
        (2, 128, 128, False),  # a copy takes longer than it saves
        (1, 512, 64, False),
        (2, 512, 64, True),
    ],
)
def test_rows_whose_loads_cross_lines_are_copied(crossings, rows, size, copied):
    steps = script(
        PRODUCT, replace(NEAR, cores=1, fma_per_cycle=2, split_load_cost=crossings), M=rows, N=size, K=size
    )
    assert any(step.startswith('cache_read("B"') for step in steps) is copied


@pytest.mark.parametrize(("crossings", "tiles"), [(1, 16), (2, 2)])
def test_blocks_of_near_operands_are_small_where_loads_are_dear(crossings, tiles):
    machine = replace(NEAR, cores=1, caches=(48 << 10, 2 << 20), fma_per_cycle=2, split_load_cost=crossings)
    assert f'split("C.jo", {tiles}, tail="clip")' in script(PRODUCT, machine, M=512, N=500, K=300)


@pytest.mark.parametrize(("cores", "shared"), [(2, "C.l"), (1, "C.jo")])
def test_a_panel_of_few_tiles_is_shared_by_loops_that_use_it_again(cores, shared):
    """Of two tiles of lanes in one block, one core would have all to do."""
    text = (
        "op product(A: f32[L, M, K], B: f32[K, N]) -> C: f32[M, L, N] { C[i, l, j] = sum(k: A[l, i, k] * B[k,"
        " j]) }"
    )
    steps = script(text, replace(NEAR, cores=cores, caches=(48 << 10, 2 << 20)), L=32, M=64, N=120, K=512)
    assert any(step.startswith('cache_read("B"') for step in steps)
    assert any(step.startswith(f'parallel("{shared}') for step in steps)


@pytest.mark.parametrize("cores", [1, 2])
def test_cores_use_what_they_have_computed_of_a_recurrence(cores):
    """Rows of a batch go with a core through all of a step; gates would need what others have
    made.
    """
    text = """op cell(X: f32[T, B, G, U], W: f32[G, K, U]) -> H: f32[T + 1, B, K] require U == K, G == 4 {
      let Z: f32[T, B, G, U]
      H[0, b, k] = 0.0
      Z[t, b, g, u] = X[t, b, g, u] + sum(k: H[t, b, k] * W[g, k, u])
      H[t + 1, b, k] = tanh(Z[t, b, 0, k]) * tanh(Z[t, b, 1, k]) + tanh(Z[t, b, 2, k]) * tanh(Z[t, b, 3, k])  for t in 0..T
    }"""
    steps = script(text, replace(NEAR, cores=cores), T=64, B=64, G=4, U=128, K=128)
    shared = [step for step in steps if step.startswith("parallel")]
    assert f'parallel("Z.{"bo" if cores > 1 else "g"}")' in shared
    assert any(step.startswith('parallel("H') for step in shared), (
        "each step is short, but there are many, and nobody sleeps"
    )


def test_short_sweeps_stay_with_one_thread():
    assert not any(step.startswith("parallel") for step in script(SWEEPS, N=2000, T=1000))
    assert any(step.startswith("parallel") for step in script(SWEEPS, N=100_000, T=1000))


@pytest.mark.parametrize(
    ("left", "instruction", "products", "tile"),
    [("i8", "vpdpbssd", 1, 24), ("u8", "vpdpbusd", 1, 12), ("i8", "vpdpbssd", 2, 12)],
)
def test_rows_share_what_unsigned_bytes_cost(left, instruction, products, tile):
    """Where bytes become unsigned first, each register of the other operand takes one more product,
    for all rows of a tile; but rows of one register load too much for two products a cycle.
    """
    machine = Machine(
        vector_bytes=64,
        vector_registers=32,
        caches=(32 << 10, 1 << 20),
        cores=2,
        instructions=frozenset({instruction}),
        fma_per_cycle=products,
    )
    text = (
        f"op product(A: {left}[M, K], B: i8[K, N]) -> C: i32[M, N] {{ C[i, j] = sum(k: i32(A[i, k]) * "
        f"i32(B[k, j])) }}"
    )
    assert f'split("C.i", {tile}, tail="overlap")' in script(text, machine, M=1024, N=1024, K=1024)


@pytest.mark.parametrize(("columns", "width"), [(512, 64), (528, 48), (768, 48)])
def test_panels_that_are_turned_have_whole_tiles(columns, width):
    """Squares are turned in registers where no columns are left over."""
    text = PRODUCT.replace("B: f32[K, N]", "B: f32[N, K]").replace("B[k, j]", "B[j, k]")
    machine = replace(
        NEAR,
        cores=1,
        caches=(48 << 10, 2 << 20),
        fma_per_cycle=2,
        split_load_cost=2,
        instructions=transposes(64),
    )
    steps = script(text, machine, M=128, N=columns, K=784)
    assert f'split("C.j", {width}, tail="pad")' in steps
    assert any(step.startswith("tensorize") for step in steps)
