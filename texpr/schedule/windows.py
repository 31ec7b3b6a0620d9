"""Sums over windows of a field, such as convolutions: a tile of positions and lanes keeps its sums in registers.

One read (the panel: weights) moves with the vector loop and stays along the positions; another (the field: an image) is read at a
position plus an offset, which is a term of the sum, and stays along the lanes. What the field gives beyond its edges is written into a copy,
so that the loops inside need no conditions. Sums keep their order.

Source: Georganas et al., Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures, SC 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Access, Nest, constant_extent, edges, unclamped
from texpr.schedule.plan import Plan

LEAST_POSITIONS = 96
"""Positions that share a panel below which packing it costs more than it saves."""
NARROW = 4
"""Panels beside each other in a row of the operand that need no packing: a row then is few lines of memory."""


@dataclass(frozen=True, slots=True)
class _Window:
    """What plays which part.

    Attributes:
        lane: the loop whose iterations are lanes.
        x, y: loops over positions, `x` the one with neighbours in memory; `y` may not be there.
        alone: loops along which the panel moves too, such as groups of channels.
        images: the other loops that share the panel.
        panel, field: the two reads.
        width: iterations of `lane` in a tile of registers.
        height: positions in it: of `x`, of `y`.
    """

    nest: Nest
    lane: For
    x: For
    y: For | None
    alone: tuple[For, ...]
    images: tuple[For, ...]
    panel: Access
    field: Access
    width: int
    height: tuple[int, int]


def windowed(plan: Plan, nest: Nest) -> list[str] | None:
    """Schedule a nest that sums over windows; names of its outer loops, or None if it is none."""
    found = _window(plan, nest)
    return None if found is None else _scheduled(plan, found)


def _window(plan: Plan, nest: Nest) -> _Window | None:
    lanes = plan.lanes(nest)
    if nest.recurrent or nest.main.update is None or not plan.machine.vector_bytes or any(integer(n.extent) is None for n in nest.loops):
        return None
    lane = next((n for n in nest.spatial if nest.accesses[0].stride(n.var) == 1 and constant_extent(n) >= lanes), None)
    moving = [] if lane is None else [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    staying = [a for a in nest.accesses[1:] if a not in moving]
    if lane is None or len(moving) != 1 or len(staying) != 1 or moving[0].stride(lane.var) != 1:
        return None
    panel, field = moving[0], staying[0]
    shared = [n for n in nest.spatial if n is not lane and panel.stride(n.var) == 0]
    slid = [n for n in shared if _slides(nest, field, n)]
    if not slid:
        return None
    x = slid[-1]
    y = slid[-2] if len(slid) > 1 else None
    alone = tuple(n for n in nest.spatial if n is not lane and n not in shared)
    images = tuple(n for n in shared if n is not x and n is not y)
    width = _width(constant_extent(lane), lanes)
    height = _height(plan.machine.vector_registers, max(1, width // lanes), constant_extent(x), constant_extent(y) if y is not None else 1)
    return _Window(nest, lane, x, y, alone, images, panel, field, width, height)


def _slides(nest: Nest, field: Access, loop: For) -> bool:
    """Whether the field is read at an iteration of the loop plus a term of the sum."""
    for i in field.indices:
        form = linear(unclamped(i))
        if form.coefficient(loop.var) and any(form.coefficient(r.var) for r in nest.reduction):
            return True
    return False


def _width(size: int, lanes: int) -> int:
    """Two vectors, which need the fewest loads for each product; three where that leaves nothing over; one of few lanes."""
    vectors = 3 if size % (3 * lanes) == 0 and size % (2 * lanes) else 2
    return min(vectors, size // lanes) * lanes


def _height(registers: int, vectors: int, xs: int, ys: int) -> tuple[int, int]:
    """Positions along x and y whose sums stay in registers, beside a row of the panel and a value for all lanes."""
    most = max(1, (registers - 1) // vectors - 1)
    if xs <= most:
        return xs, min(ys, most // xs)
    divisors = [n for n in range(most, most // 2, -1) if xs % n == 0]
    return (divisors[0] if divisors else most), 1


def _scheduled(plan: Plan, w: _Window) -> list[str] | None:
    nest = w.nest
    blocks = _blocked_rows(plan, w)
    lane_tiles, lane = plan.cut(qualified(w.lane), w.width)
    x_tiles, x = plan.cut(qualified(w.x), w.height[0])
    inside, rows = [x], [x_tiles] if x_tiles else []
    row_blocks = ""
    if w.y is not None:
        y_tiles, y = plan.cut(qualified(w.y), w.height[1]) if w.height[1] > 1 else (qualified(w.y), "")
        if y_tiles and blocks:
            row_blocks, y_tiles = plan.cut(y_tiles, max(1, blocks // w.height[1]), "clip")
        rows = [y_tiles, *rows] if y_tiles else rows
        inside = [y, x] if y else inside
    outer = [*map(qualified, (*w.alone, *w.images)), *([row_blocks] if row_blocks else [])]
    tiles = [lane_tiles] if lane_tiles else []
    if not plan.step("reorder", *outer, *tiles, *rows, *map(qualified, nest.reduction), *inside, lane):
        return None
    if outer and any(edges(nest, n) != (0, 0) for n in (w.x, w.y) if n is not None):
        _copied(plan, w, outer[-1])
    if lane_tiles and _is_packed(w):
        _packed(plan, w, lane_tiles)
    for name in inside:
        plan.step("unroll", name)
    plan.step("vectorize", lane)
    long = [n for n in outer if n == row_blocks or next(constant_extent(e) for e in nest.spatial if qualified(e) == n) > 1]
    return [*long, *tiles, *rows]


def _blocked_rows(plan: Plan, w: _Window) -> int:
    """Rows of positions whose part of the field stays in half the second cache, 0 if that of all do."""
    if w.y is None or not plan.machine.caches:
        return 0
    used = prod(constant_extent(n) for n in (w.x, w.y, *w.nest.reduction) if _moves(w.field, n) and not _is_offset(w, n))
    stride = max(1, _step(w.field, w.y)) * max(1, _step(w.field, w.x))
    rows = constant_extent(w.y)
    fitting = rows * (plan.machine.caches[:2][-1] // 2) // max(1, used * stride * w.field.tensor.dtype.bytes)
    return 0 if fitting >= rows else max(fitting, 8)


def _moves(a: Access, n: For) -> bool:
    return a.stride(n.var) != 0


def _is_offset(w: _Window, n: For) -> bool:
    """Whether the loop is over offsets within the window: these elements are those of the neighbouring positions."""
    return any(n is r for r in w.nest.reduction) and any(
        linear(unclamped(i)).coefficient(n.var) and any(linear(unclamped(i)).coefficient(p.var) for p in (w.x, w.y) if p is not None)
        for i in w.field.indices)


def _step(field: Access, n: For) -> int:
    """How far a position is from the next, in elements of its dimension."""
    return max(abs(linear(unclamped(i)).coefficient(n.var)) for i in field.indices)


def _copied(plan: Plan, w: _Window, at: str) -> None:
    """Copy the field with what it gives beyond its edges."""
    if plan.step("cache_read", w.field.tensor.name, at):
        buffer = plan.kernel.temporaries[-1]
        plan.step("vectorize", f"{buffer.name}.d{buffer.rank - 1}")


def _is_packed(w: _Window) -> bool:
    positions = prod(map(constant_extent, (w.x, *([w.y] if w.y is not None else []))))
    return constant_extent(w.lane) > NARROW * w.width and positions >= LEAST_POSITIONS


def _packed(plan: Plan, w: _Window, at: str) -> None:
    """Copy the panel of each tile of lanes, row by row."""
    if plan.step("cache_read", w.panel.tensor.name, at):
        buffer = plan.kernel.temporaries[-1]
        plan.step("vectorize", f"{buffer.name}.d{buffer.rank - 1}")
