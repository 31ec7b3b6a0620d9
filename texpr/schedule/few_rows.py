"""Products of few rows, whose other operand is in the third cache: its columns are taken in strips as wide as a tile of registers.

A strip comes to the second cache with the first rows and stays there for the others, so that a copy, which reads and writes all of it once
more, would cost more than it saves. For more than `MOST_ROWS` it pays, and for `LEAST_COPIED` where processors multiply faster than lines
come that push each other out. Operands that come from memory are read by rows (`streams`).
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Mul
from texpr.ir.loop import For
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Access, Nest, constant_extent
from texpr.schedule.packing import ALIAS
from texpr.schedule.panels import LEAST_ROWS as LEAST_COPIED
from texpr.schedule.plan import Plan

LEAST_ROWS, MOST_ROWS = 16, 64
"""Fewer walk along rows of the operand (`streams`), for more a copy pays (`panels`)."""
HEIGHT = 8
"""Rows of a tile, at most: as many as a first cache has ways."""
SHARE = 4
"""Of the second cache, which a strip may fill."""
FAR = 4
"""Second caches that the operand may fill: the third one holds it then, and a page of it serves several strips."""
MOST_WASTE = 16
"""One lane of so many may have nothing to do."""


def in_strips(plan: Plan, nest: Nest) -> list[str] | None:
    """Schedule a product of few rows; names of its outer loops, or None if it is none."""
    found = _few_rows(plan, nest)
    return None if found is None else plan.whole(lambda: _scheduled(plan, *found))


def _few_rows(plan: Plan, nest: Nest) -> tuple[Nest, For, For, int] | None:
    """The nest, its loops over rows and lanes, and how many of these a tile has."""
    machine = plan.machine
    if nest.again or nest.outer or nest.recurrent or len(nest.spatial) != 2 or len(nest.reduction) != 1 or len(nest.accesses) != 3:
        return None
    if machine.vector_registers < 32 or machine.lane_products or len(machine.caches) < 2:
        return None
    if any(integer(n.extent) is None for n in nest.loops):
        return None
    (row, lane), (term,) = nest.spatial, nest.reduction
    operand = next((a for a in nest.accesses[1:] if a.stride(lane.var) == 1 and a.stride(row.var) == 0), None)
    other = next((a for a in nest.accesses[1:] if a.stride(lane.var) == 0 and a.stride(row.var) not in (0, None)), None)
    if operand is None or other is None or not isinstance(nest.main.value, Mul) or operand.tensor.dtype != nest.main.tensor.dtype:
        return None
    width = _width(constant_extent(lane), plan.lanes(nest))
    fits = LEAST_ROWS <= constant_extent(row) <= MOST_ROWS and MOST_WASTE * (-constant_extent(lane) % width) <= constant_extent(lane)
    fits = fits and not (constant_extent(row) >= LEAST_COPIED and _push_out(plan, operand, term))
    return (nest, row, lane, width) if fits and _stays(plan, operand, constant_extent(term), constant_extent(lane), width) else None


def _push_out(plan: Plan, operand: Access, term: For) -> bool:
    """Whether rows of a strip push each other out of the first cache, and a core waits for them."""
    return plan.machine.products > 1 and (operand.stride(term.var) or 0) * operand.tensor.dtype.bytes % ALIAS == 0


def _width(lanes: int, register: int) -> int:
    """Lanes of a tile: three registers, or two where less is left over."""
    return min((3, 2), key=lambda n: -(-lanes // (n * register)) * n) * register


def _stays(plan: Plan, operand: Access, terms: int, lanes: int, width: int) -> bool:
    """Whether a strip of the operand stays in the second cache, and all of it is in the third one and not in the first."""
    each, (first, second) = operand.tensor.dtype.bytes, plan.machine.caches[:2]
    return terms * width * each <= second // SHARE and first < terms * lanes * each <= FAR * second


def _scheduled(plan: Plan, nest: Nest, row: For, lane: For, width: int) -> list[str] | None:
    rows = constant_extent(row)
    strips, lanes = plan.cut(qualified(lane), width)
    tiles, inner = plan.cut(qualified(row), -(-rows // -(-rows // HEIGHT)))
    outer = [name for name in (strips, tiles) if name]
    if not plan.step("reorder", *outer, qualified(nest.reduction[0]), inner, lanes):
        return None
    return outer if plan.step("unroll", inner) and plan.step("vectorize", lanes) else None
