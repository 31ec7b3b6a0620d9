"""Tiles of positions whose windows overlap: the taps of a row of the window are copied where all
that they use stays in registers.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.autoschedule.cpu.convolution.test_direct import FIRST, NEAR, scheduled
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.convolution.register_tiling import tile_with_taps
from texpr.autoschedule.driver import auto

TILES = {
    (24, 24): (2, (8, 1)),
    (26, 26): (1, (13, 1)),
    (28, 28): (2, (7, 1)),
    (7, 7): (2, (7, 1)),
    (4, 4): (2, (4, 2)),
    (17, 6): None,
}


@pytest.mark.parametrize(("sizes", "tile"), TILES.items())
def test_tiles_are_as_large_as_registers_allow(sizes, tile):
    assert tile_with_taps(32, 2, sizes, 1, 3) == tile


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("taps", [2, 3, 5])
def test_all_that_a_tile_uses_stays_in_registers(step, taps):
    for registers in (16, 32):
        for x in range(1, 60):
            found = tile_with_taps(registers, 3, (x, 6), step, taps)
            if found is not None:
                wide, (h, n) = found
                fetched = len(
                    {p * step + q for p in range(h) for q in range(taps)} | {p * step for p in range(h)}
                )
                assert (
                    wide * h * n + fetched * n + wide <= registers
                    and wide * h * n >= CONVOLUTION_COSTS.tile_sums
                )
                assert x % h == 0 and 6 % n == 0 and (n == 1 or h == x)


def test_taps_are_copied_where_neighbours_overlap():
    sizes = {"N": 1, "C": 8, "H": 16, "W": 16, "K": 16, "R": 3, "Q": 3, "S": 1, "P": 1}

    def steps(machine, **other):
        return [str(step) for step in auto(tx.schedule(tx.op(FIRST), **sizes | other).kernel, machine)[0]]

    assert {'unroll("Y.q")', 'split("Y.x", 8, tail="peel")'} <= {*steps(NEAR)}
    assert 'unroll("Y.q")' not in steps(replace(NEAR, has_memory_operands=False)), (
        "values come to registers by instructions of their own"
    )
    assert 'unroll("Y.q")' not in steps(NEAR, Q=9, P=4, R=9), "too many copies"
    assert 'unroll("Y.q")' not in scheduled("same", NEAR).script(), "channels stand inside of the window"
