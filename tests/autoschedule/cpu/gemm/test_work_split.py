"""Blocks of tiles for cores: no core has many more tiles than it has at best."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.work_split import busiest_of, fair_blocks, is_uneven
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

CORES = st.integers(1, 9)
TILES = st.integers(1, 60)


def dealt(tiles: int, block: int, cores: int) -> int:
    """Tiles of the busiest core of blocks that are dealt out one by one."""
    blocks = [min(block, tiles - at) for at in range(0, tiles, block)]
    return max(sum(blocks[k::cores]) for k in range(cores))


@given(TILES, st.integers(1, 20), CORES)
def test_the_busiest_core(tiles: int, block: int, cores: int):
    assert busiest_of(tiles, min(block, tiles), cores) == dealt(tiles, min(block, tiles), cores)


@given(TILES, st.data(), CORES)
def test_fair_blocks(tiles: int, data: st.DataObject, cores: int):
    most = data.draw(st.integers(1, tiles))
    choices = range((most + 1) // 2, most + 1)
    least = min(dealt(tiles, n, cores) for n in choices)
    parts = GEMM_COSTS.uneven_block_fraction
    fair = fair_blocks(tiles, most, cores)
    assert fair == [n for n in choices if dealt(tiles, n, cores) * parts <= least * (parts + 1)]
    assert cores > 1 or fair == list(choices)


@given(TILES, CORES)
def test_one_block_leaves_other_cores_idle(tiles: int, cores: int):
    assert is_uneven(cores, tiles, tiles) is (cores > 1)


def test_blocks_of_a_schedule_have_their_size():
    """25 tiles in blocks of 6 are 13 for the busier of two cores; five equal blocks would be 15."""
    product = (
        "op f(A: f32[128, 512], B: f32[512, 784]) -> C: f32[128, 784] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)
    steps = auto(tx.schedule(tx.op(product)).kernel, machine)[0]
    assert 'split("C.jo", 6, tail="clip")' in map(str, steps)
