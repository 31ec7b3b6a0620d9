"""Large contractions: blocks for the caches, an operand packed into panels, a tile of sums in registers.

A contraction is a reduction with one read that moves with the vector loop (the panel) and stays along another loop over the target
(the rows), which reuses it: matrix products of any layout, batched or not, and convolutions. Sums keep their order.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Access, Nest, constant_extent
from texpr.schedule.packing import in_panels, in_registers
from texpr.schedule.plan import Plan

DEPTH = 4096
"""The most terms of a sum that are added before the sums go back to memory: a panel of so many rows still fits the second cache."""
LEAST_ROWS = 32
"""Rows that share a panel below which packing costs more than it saves."""
BLOCK_ROWS = 64
MOST_ROWS = 512
"""Rows that one thread works on at a time."""


@dataclass(frozen=True, slots=True)
class _Contraction:
    """What plays which part.

    Attributes:
        lane: the loop whose iterations are lanes.
        row: the loop along which the panel is used again.
        panel: the read that moves with `lane`.
        width, height: iterations of `lane` and of `row` in a tile of registers.
    """

    nest: Nest
    lane: For
    row: For
    panel: Access
    width: int
    height: int


def packed(plan: Plan, nest: Nest) -> list[str] | None:
    """Schedule a nest as a large contraction; names of its outer loops, or None if it is none."""
    found = _contraction(plan, nest)
    if found is None:
        return None
    before = plan.here()
    names = _scheduled(plan, found)
    if names is None:
        plan.back(before)
    return names


def _contraction(plan: Plan, nest: Nest) -> _Contraction | None:
    lanes = plan.lanes(nest)
    if nest.recurrent or nest.main.update is None or plan.machine.vector_registers < 16:
        return None
    if any(integer(n.extent) is None for n in nest.loops):
        return None
    lane = next((n for n in nest.spatial if nest.accesses[0].stride(n.var) == 1 and constant_extent(n) >= 2 * lanes), None)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    if lane is None or len(moving) != 1:
        return None
    panel = moving[0]
    width, height = tile_of(plan, constant_extent(lane), lanes)
    sharing = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0]
    rows = [n for n in sharing if constant_extent(n) >= height]
    if not rows or prod(map(constant_extent, sharing)) < LEAST_ROWS or not _is_large(plan, nest, panel, lane):
        return None
    row = max(reversed(rows), key=lambda n: min(constant_extent(n), BLOCK_ROWS))
    return _Contraction(nest, lane, row, panel, width, _height(constant_extent(row), height))


def _is_large(plan: Plan, nest: Nest, panel: Access, lane: For) -> bool:
    """The operand does not stay in the second cache, so that it comes from far away for each row of tiles."""
    used = prod(constant_extent(n) for n in (*nest.reduction, lane) if panel.stride(n.var) != 0)
    nearby = plan.machine.caches[:2][-1] if plan.machine.caches else 0
    return used * panel.tensor.dtype.bytes > nearby // 2


def tile_of(plan: Plan, size: int, lanes: int) -> tuple[int, int]:
    """Width and height of a tile: its sums, a row of the panel and a value for all lanes fit the registers, little is left over."""
    if plan.machine.vector_registers < 32:
        return 2 * lanes, 6
    vectors = min((2, 4, 3), key=lambda n: size % (n * lanes))
    return vectors * lanes, {2: 8, 3: 8, 4: 6}[vectors]


def _height(rows: int, most: int) -> int:
    """As tall as fits; of few rows, as many at a time as leave the fewest over."""
    if rows >= BLOCK_ROWS:
        return most
    return max(range(most // 2, most + 1), key=lambda n: (-(rows % n), n))


def _scheduled(plan: Plan, c: _Contraction) -> list[str] | None:
    nest = c.nest
    lane_tiles, lane = plan.cut(qualified(c.lane), c.width)
    row_tiles, row = plan.cut(qualified(c.row), c.height)
    deep, shallow = _depths(plan, nest)
    lane_blocks, lane_tiles = plan.cut(lane_tiles, max(1, _block_width(plan, c) // c.width), "clip") if lane_tiles else ("", "")
    panels = [lane_tiles] if lane_tiles else []
    scattered = [a for a in nest.accesses[1:] if a is not c.panel and _scattered(c, a)]
    row_blocks = ""
    others = [n for n in nest.spatial if n is not c.lane and n is not c.row]
    sharing = [qualified(n) for n in others if c.panel.stride(n.var) == 0]
    if not sharing and (scattered or not _few_rows(plan, c)):
        row_blocks, row_tiles = plan.cut(row_tiles, _tiles_of_a_block(plan, constant_extent(c.row), c.height), "clip")
    rows_alone = [*(qualified(n) for n in others if c.panel.stride(n.var) != 0), *([row_blocks] if row_blocks else [])]
    outer = [*rows_alone, *([lane_blocks] if lane_blocks else [])]
    tiles = [row_tiles] if row_tiles else []
    if not outer or not plan.step("reorder", *outer, *deep, *panels, *sharing, *tiles, *shallow, row, lane):
        return None
    at = (outer + deep)[-1]
    if not pack(plan, c.panel, at, c.lane, c.width):
        return None
    for a in scattered:
        pack(plan, a, at if deep or not rows_alone else rows_alone[-1], c.row, c.height)
    if deep:
        in_registers(plan, c.nest, c.lane, [*tiles, *sharing, *panels])
    plan.step("unroll", row)
    plan.step("vectorize", lane)
    return outer


def _scattered(c: _Contraction, access: Access) -> bool:
    """Terms of one sum that lie apart: a tile would touch as many lines of memory as it has terms."""
    return access.stride(c.nest.reduction[-1].var) not in (0, 1) and access.stride(c.row.var) != 0


def _few_rows(plan: Plan, c: _Contraction) -> bool:
    """All rows stay in the last cache while the lanes are shared among cores: then a panel is packed once."""
    depth = prod(constant_extent(n) for n in c.nest.reduction)
    fits = constant_extent(c.row) * depth * c.panel.tensor.dtype.bytes <= plan.machine.caches[-1] // 2
    return fits and constant_extent(c.lane) >= 2 * plan.machine.cores * _block_width(plan, c)


def _depths(plan: Plan, nest: Nest) -> tuple[list[str], list[str]]:
    """Names of the reduction loops outside and inside a block, cut so that the inner ones have at most `DEPTH` terms."""
    deep: list[str] = []
    shallow: list[str] = []
    room = DEPTH
    for loop in reversed(nest.reduction):
        name, n = qualified(loop), constant_extent(loop)
        if not deep and n <= room:
            shallow.insert(0, name)
            room //= max(1, n)
        elif not deep and room >= 32:
            outer, inner = plan.cut(name, _even(n, room), "clip")
            deep, shallow = [outer], [inner, *shallow]
        else:
            deep.insert(0, name)
    return deep, shallow


def _even(n: int, most: int) -> int:
    """The largest divisor of `n` that is at least half of `most` and at most that, else parts of nearly one size."""
    divisors = [d for d in range(most, most // 2 - 1, -1) if n % d == 0]
    return divisors[0] if divisors else -(-n // -(-n // most))


def _tiles_of_a_block(plan: Plan, rows: int, height: int) -> int:
    """As many tiles as let each core have the same number of blocks, two at least, of `BLOCK_ROWS` to `MOST_ROWS`."""
    cores = plan.machine.cores
    rounds = max(2, -(-rows // (MOST_ROWS * cores)))
    blocks = max(1, min(rounds * cores, rows // BLOCK_ROWS))
    return -(-(rows // height) // blocks)


def _block_width(plan: Plan, c: _Contraction) -> int:
    """As many lanes as make a packed block of half the second cache, at least four tiles."""
    nearby = plan.machine.caches[:2][-1]
    depth = min(DEPTH, prod(constant_extent(n) for n in c.nest.reduction if c.panel.stride(n.var) != 0))
    return max(4 * c.width, nearby // 2 // (depth * c.panel.tensor.dtype.bytes))


def pack(plan: Plan, access: Access, at: str, loop: For, factor: int) -> bool:
    """Copy what is read under `at` to panels: `factor` iterations of `loop` beside each other.

    What lies apart in the tensor is transposed a cache line at a time.
    """
    along = [d for d, i in enumerate(access.indices) if loop.var in variables(i)]
    if len(along) != 1 or not plan.step("cache_read", access.tensor.name, at):
        return False
    in_panels(plan, plan.kernel.temporaries[-1], along[0], factor, access.stride(loop.var) == 1)
    return True
