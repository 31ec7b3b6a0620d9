"""Contractions that an instruction sums in registers of tiles: 16 rows times 16 columns, over as many terms as rows of 64 bytes have.

Both operands are packed as tiles: of the left one rows of terms, of the right one groups of terms of all columns beside each other. Sums
stay in tiles over all terms, then go to a small buffer, from which the operator takes them. Tiles are filled up with zeros in all three
directions: to sums that start at 0 these add nothing. What instructions do is in `ir.instructions`.

Source: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008, for blocks and panels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.instructions import INSTRUCTIONS, meaning
from texpr.ir.loop import For
from texpr.ir.traverse import variables
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Access, Nest, constant_extent
from texpr.schedule.plan import Plan

SIDE = 16
"""Rows and columns of a tile of sums."""
ROW_BYTES = 64
COLUMN_BYTES = 4
HIGH, WIDE = 2, 2
"""Tiles of sums, rows of them and columns, that are added to with as many of the left operand and of the right one."""
LEAST_FILLED = 2 / 3
"""The share of what is multiplied that is no filling, below which other instructions do as much."""
LEAST_ROWS = 16
"""Rows and columns for which operands are packed."""


@dataclass(frozen=True, slots=True)
class _Tiles:
    """What plays which part.

    Attributes:
        row, lane, term: loops along the rows of the result, along its columns, and over the terms.
        left, right: the reads that move with `row` and with `lane`.
        others: loops around, with which both reads may move.
        group: terms in a column of a tile.
    """

    nest: Nest
    instruction: str
    row: For
    lane: For
    term: For
    left: Access
    right: Access
    others: list[For]
    group: int

    @property
    def terms(self) -> int:
        """Terms of a tile."""
        return self.group * ROW_BYTES // COLUMN_BYTES


def tiled_product(plan: Plan, nest: Nest) -> list[str] | None:
    """Schedule a nest whose sums tiles hold; names of its outer loops, or None if there are none."""
    found = _tiles(plan, nest)
    return None if found is None else plan.whole(lambda: _scheduled(plan, found))


def _tiles(plan: Plan, nest: Nest) -> _Tiles | None:
    if not plan.machine.tiles or nest.outer or nest.again or nest.recurrent or nest.main.update != "add":
        return None
    if len(nest.reduction) != 1 or len(nest.accesses) != 3 or any(integer(n.extent) is None for n in nest.loops):
        return None
    target, term = nest.accesses[0], nest.reduction[0]
    lane = next((n for n in nest.spatial if target.stride(n.var) == 1), None)
    right = next((a for a in nest.accesses[1:] if lane is not None and a.stride(lane.var)), None)
    if lane is None or right is None:
        return None
    left = next(a for a in nest.accesses[1:] if a is not right)
    rows = [n for n in nest.spatial if left.stride(n.var) and right.stride(n.var) == 0]
    row = max(rows, key=constant_extent, default=None)
    if row is None or left.stride(lane.var) != 0 or 0 in (left.stride(term.var), right.stride(term.var)):
        return None
    instruction = _instruction(plan, left, right, target)
    if not instruction or not all(_is_matrix(a, (along, term)) for a, along in ((left, row), (right, lane))):
        return None
    others = [n for n in nest.spatial if n is not row and n is not lane]
    found = _Tiles(nest, instruction, row, lane, term, left, right, others, COLUMN_BYTES // left.tensor.dtype.bytes)
    return found if _fills(found) else None


def _instruction(plan: Plan, *operands: Access) -> str:
    """The one that multiplies tiles of these types; empty if the machine has none."""
    types = [a.tensor.dtype for a in operands]
    for name in sorted(plan.machine.instructions - plan.machine.outrun):
        does = meaning(name)
        if len(does.inputs) == 2 and all(t.rank == 3 for t in does.inputs) and [t.dtype for t in (*does.inputs, *does.outputs)] == types:
            return name
    return ""


def _is_matrix(a: Access, loops: tuple[For, For]) -> bool:
    """Whether the loops move along a dimension of the tensor each, alone."""
    along = [[d for d, i in enumerate(a.indices) if loop.var in variables(i)] for loop in loops]
    return all(len(ds) == 1 for ds in along) and along[0] != along[1]


def _fills(t: _Tiles) -> bool:
    """Whether most of what tiles hold is no filling."""
    extents = [(constant_extent(t.row), HIGH * SIDE), (constant_extent(t.lane), WIDE * SIDE), (constant_extent(t.term), t.terms)]
    if min(extents[0][0], extents[1][0]) < LEAST_ROWS:
        return False
    return prod(n for n, _ in extents) >= LEAST_FILLED * prod(-(-n // tile) * tile for n, tile in extents)


def _scheduled(plan: Plan, t: _Tiles) -> list[str] | None:
    """Panels of the right operand stay in the second cache, a few rows of the left one near, the sums in registers."""
    lane_tiles, lane = plan.split(qualified(t.lane), WIDE * SIDE, tail="pad") or ("", "")
    row_tiles, row = plan.split(qualified(t.row), HIGH * SIDE, tail="pad") or ("", "")
    terms, term = plan.split(qualified(t.term), t.terms, tail="pad") or ("", "")
    if not (lane_tiles and row_tiles and terms):
        return None
    tiles = constant_extent(plan.loop(lane_tiles))
    blocks, lane_tiles = plan.split(lane_tiles, -(-tiles // _blocks(plan, t, tiles)), tail="clip") or ("", "")
    others = [qualified(n) for n in t.others]
    if not blocks or not plan.step("reorder", *others, blocks, row_tiles, lane_tiles, terms, row, lane, term):
        return None
    layouts: list[tuple[str, str]] = []
    right, left = (_packed(plan, t, a, at, along, layouts) for a, at, along in ((t.right, blocks, t.lane), (t.left, row_tiles, t.row)))
    groups, term = plan.split(term, t.group, tail="exact") or ("", "")
    rows, row = plan.split(row, SIDE, tail="exact") or ("", "")
    lanes, lane = plan.split(lane, SIDE, tail="exact") or ("", "")
    if not (right and left and groups and rows and lanes) or not plan.step("reorder", terms, rows, lanes, row, lane, groups, term):
        return None
    loads = [_loaded(plan, t, *each, terms, layouts) for each in ((left, t.left, t.row), (right, t.right, t.lane))]
    stored = _stored(plan, t, rows, lanes, row, lane)
    total = t.nest.main.tensor.name
    names = "abcdefghijklmnop"[: t.nest.main.tensor.rank]
    where = {n: next(names[d] for d, i in enumerate(t.nest.accesses[0].indices) if n.var in variables(i)) for n in (t.row, t.lane)}
    i, j = where[t.row], where[t.lane]
    rest = [n for n in names if n not in (i, j)]
    layouts.append((total, f"{' '.join(names)} -> {' '.join(rest)} {i}/{SIDE} {j}/{SIDE} {i}%{SIDE} {j}%{SIDE}"))
    for each in (rows, lanes):
        plan.step("unroll", each)
    for buffer, form in layouts:
        if not plan.step("layout", buffer, form):
            return None
    kind = t.nest.main.tensor.dtype
    permitted = {"reassoc": True} if INSTRUCTIONS[t.instruction].flushes else {}
    steps = [(total, row, f"tilezero_{kind}", {}), *loads, stored, (total, row, t.instruction, permitted)]
    if not all(loop and plan.step("tensorize", loop, name, **more) for _, loop, name, more in steps):
        return None
    plan.step("vectorize", lane)  # of what is made of the sums: instructions run the others
    for buffer in (total, *(name for name, *_ in loads)):
        if not plan.step("scope", buffer, "tile"):
            return None
    return [*others, blocks]


def _blocks(plan: Plan, t: _Tiles, tiles: int) -> int:
    """How many blocks of columns there are, each of which half of the second cache holds once packed: as many for each core."""
    most = max(1, plan.nearby // (constant_extent(t.term) * t.right.tensor.dtype.bytes * WIDE * SIDE))
    blocks = -(-tiles // most)
    return min(-(-blocks // plan.machine.cores) * plan.machine.cores, tiles)


def _dimension(a: Access, loop: For) -> int:
    return next(d for d, i in enumerate(a.indices) if loop.var in variables(i))


def _names(buffer: Tensor) -> str:
    return "abcdefghijklmnop"[: buffer.rank]


def _form(buffer: Tensor, along: int, term: int, group: int) -> str:
    """A layout in tiles: `group` terms beside each other, for all rows of a tile."""
    names = _names(buffer)
    i, k = names[along], names[term]
    rest = "".join(f"{n} " for n in names if n not in (i, k))
    return f"{' '.join(names)} -> {rest}{i}/{SIDE} {k}/{group} {i}%{SIDE} {k}%{group}"


def _packed(plan: Plan, t: _Tiles, a: Access, at: str, along: For, layouts: list[tuple[str, str]]) -> str:
    """Copy what is read as tiles; the name of the buffer. Its layout comes last: only then are all indices sums of tiles and places in them."""
    if not plan.step("cache_read", a.tensor.name, at):
        return ""
    buffer = plan.kernel.temporaries[-1]
    d, e = _dimension(a, along), _dimension(a, t.term)
    group = t.terms if a is t.left else t.group
    panels, lane = plan.split(f"{buffer.name}.d{d}", SIDE, tail="exact") or ("", "")
    groups, term = plan.split(f"{buffer.name}.d{e}", group, tail="exact") or ("", "")
    if not panels or not groups:
        return ""
    if a is t.left:
        plan.step("reorder", panels, lane, groups, term)
        plan.step("vectorize", term)
    else:
        plan.step("reorder", groups, panels, lane, term)
        if a.stride(along.var) == 1:  # rows of terms are woven
            plan.step("unroll", term)
            plan.step("vectorize", lane)
        else:
            plan.step("vectorize", term)
    layouts.append((buffer.name, _form(buffer, d, e, group)))
    return buffer.name


def _loaded(plan: Plan, t: _Tiles, buffer: str, a: Access, along: For, terms: str,
            layouts: list[tuple[str, str]]) -> tuple[str, str, str, dict[str, bool]]:
    """Tiles of an operand from what was packed: the buffer, the loop that an instruction runs, and its name."""
    if not plan.step("cache_read", buffer, terms):
        return "", "", "", {}
    tiles = plan.kernel.temporaries[-1]
    d, e = _dimension(a, along), _dimension(a, t.term)
    name = f"tileloadd_{'' if a is t.left else 'groups_'}{a.tensor.dtype}"
    outer, row = plan.split(f"{tiles.name}.d{d}", SIDE, tail="exact") or ("", "")
    term = f"{tiles.name}.d{e}"
    if a is t.right:
        groups, term = plan.split(term, t.group, tail="exact") or ("", "")
        plan.step("reorder", outer, groups, row, term)
        row = groups
    plan.step("unroll", outer)
    layouts.append((tiles.name, _form(tiles, d, e, t.terms if a is t.left else t.group)))
    return tiles.name, row, name, {}


def _stored(plan: Plan, t: _Tiles, rows: str, lanes: str, row: str, lane: str) -> tuple[str, str, str, dict[str, bool]]:
    """What becomes of sums: they go to a buffer, from which elements are computed."""
    total = t.nest.main.tensor
    if not plan.step("cache_read", total.name, rows):
        return "", "", "", {}
    buffer = plan.kernel.temporaries[-1]
    d = _dimension(t.nest.accesses[0], t.row)
    e = _dimension(t.nest.accesses[0], t.lane)
    outer, inner = plan.split(f"{buffer.name}.d{e}", SIDE, tail="exact") or ("", "")
    plan.step("reorder", outer, f"{buffer.name}.d{d}", inner)
    plan.step("unroll", outer)
    return buffer.name, f"{buffer.name}.d{d}", f"tilestored_{total.dtype}", {}
