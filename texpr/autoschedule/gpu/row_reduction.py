"""Rows of sums on a GPU: a warp or a block for each row, what a row needs side by side in the
registers of its threads.

Nests that sum over neighbouring elements (softmax, layernorm, sums of rows) and those that use the
sums are brought under one loop over rows. Each thread takes vectors of a row; partial results of
threads are folded over the lanes of warps, then over warps.
"""

from __future__ import annotations

from collections.abc import Set

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles, sum_loop
from texpr.autoschedule.core.nest import Nest, extent, unmarked_nests
from texpr.autoschedule.core.template import Among, NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For
from texpr.ir.traverse import walk
from texpr.schedule.structure.loops import free_name, stores
from texpr.support.frozen_dataclass import frozen

LANES = 32
"""Lanes of a warp (CUDA C++ Programming Guide)."""
VECTOR_BYTES = 16
"""Bytes that a thread loads or stores at once, at most (PTX ISA, `ld`)."""
_FOLDED = ("f32", "f64", "i32", "i64")
"""Types of which the lanes of a warp fold a number each."""


@frozen
class _Row:
    """Distribution of a row over threads: each of `warps` warps of 32 lanes has `vector` neighbours
    at a time; `parts` times if that is known.
    """

    warps: int
    vector: int
    parts: int | None

    @property
    def step(self) -> int:
        """Elements that all threads have at a time."""
        return self.warps * LANES * self.vector


@frozen
class _Rows:
    """A nest whose rows are summed, or that uses the sums of its rows.

    Attributes:
        depth: how many of its loops are over rows.
        members: nests that it takes values from, which may have those loops too, the last one
            first.
    """

    nest: Nest
    depth: int
    members: list[Nest]


class RowReduction:
    """Sums of rows, and what uses them, under one loop over rows: a warp or a block for each
    row.
    """

    name, stage = "RowReduction", Stage.GROUPS

    def match(self, builder: ScheduleBuilder, subject: Among) -> _Rows | NoMatch:
        """The rows of a nest."""
        nest, nests = subject.nest, list(subject.nests)
        depth = _depth(nest, nests, subject.taken)
        if depth is None:
            return NoMatch("rows are not summed")
        needed, before = _needed(nest, nests), nests[: nests.index(nest)]
        members = [
            n
            for n in reversed(before)
            if id(n) not in subject.taken and any(n is m for m in needed) and _may_join(n, depth)
        ]
        return _Rows(nest, depth, members)

    def apply(self, builder: ScheduleBuilder, match: _Rows) -> Scheduled | NoMatch:
        """The steps, for those nests that can have the loops over rows."""
        rows, members = handles(match.nest.spatial[: match.depth]), [match.nest]
        for other in match.members if rows else ():
            if builder.try_apply("compute_at", other.label, rows[-1], recompute=False):
                members.append(other)
        if len(members) == 1 and not match.nest.reduction:
            return NoMatch("what it takes values from cannot be computed in its loops over rows")
        if not any(n.reduction for n in members):
            return Scheduled(rows)  # elements that were brought together are left to other templates
        _scheduled(builder, rows, members[::-1], match.depth)
        return Scheduled(rows, members=tuple(members))


def prepare_rows(builder: ScheduleBuilder) -> None:
    """Compute again what no block can keep of a row, and let loops over rows come first."""
    _without_long_rows(builder)
    _rows_outside(builder)


def _without_long_rows(builder: ScheduleBuilder) -> None:
    """Inline temporaries that are summed along rows which no block can keep: they are computed
    again where they are used.
    """
    nests = unmarked_nests(builder.kernel)
    summed = {a.tensor for n in nests if n.reduction and _sums_row(n) for a in n.accesses[1:]}
    for t in builder.kernel.temporaries:
        made = [n for n in nests if n.main.tensor is t]
        if (
            t in summed
            and len(made) == 1
            and not made[0].reduction
            and made[0].spatial
            and not _fits(made[0].spatial[-1])
        ):
            builder.try_apply("inline", t)


def _rows_outside(builder: ScheduleBuilder) -> None:
    """Loops over rows come first where sums of rows are used: in the order in which the sums
    have them.
    """
    nests = unmarked_nests(builder.kernel)
    sums = _of_rows(nests)
    for nest in nests:
        used = next((a for a in nest.accesses[1:] if a.tensor.name in sums), None)
        if used is None or nest.reduction or nest.enclosing_loops:
            continue
        rows = [n for i in used.indices for n in nest.spatial if n.var is i]
        order = [*rows, *(n for n in nest.spatial if not any(n is r for r in rows))]
        if len(rows) == len(used.indices) and any(a is not b for a, b in zip(order, nest.spatial)):
            builder.try_apply("reorder", *order)


def _of_rows(nests: list[Nest]) -> set[str]:
    """The names of sums of rows, and of what is computed of them for each row, such as their
    reciprocals.
    """
    found = set[str]()
    for n in nests:
        read = [a for a in n.accesses[1:] if a.tensor.name in found]
        if (
            n.reduction
            and _sums_row(n)
            or read
            and not n.reduction
            and all(len(a.indices) == len(n.spatial) for a in read)
        ):
            found.add(n.tensor_name)
    return found


def _fits(loop: For) -> bool:
    length = integer(loop.extent)
    return length is not None and length <= GPU_COSTS.row_warps * LANES * GPU_COSTS.row_registers


def _depth(nest: Nest, nests: list[Nest], done: Set[int]) -> int | None:
    """Number of loops over rows around: those of a sum itself, or of the sums that are used; None
    where rows are not summed.
    """
    if nest.enclosing_loops or nest.outer or (nest.main.update is not None and not nest.reduction):
        return None
    if nest.reduction:
        return len(nest.spatial) if _sums_row(nest) else None
    depth = max(
        (len(n.spatial) for n in _needed(nest, nests) if id(n) not in done and n.reduction and _sums_row(n)),
        default=None,
    )
    return depth if depth is not None and depth <= len(nest.spatial) else None


def _needed(nest: Nest, nests: list[Nest]) -> list[Nest]:
    """The nests from which a nest takes values, at once or by way of others."""
    found: list[Nest] = []
    todo = [nest]
    while todo:
        read = {a.tensor.name for a in todo.pop().accesses[1:]}
        more = [n for n in nests if n.tensor_name in read and not any(n is f for f in found)]
        found += more
        todo += more
    return found


def _sums_row(nest: Nest) -> bool:
    """True if neighbours are summed."""
    loop = nest.reduction[-1]
    strides = [a.stride(loop.var) for a in nest.accesses[1:]]
    return (
        nest.main.update in ("add", "max", "min")
        and nest.main.tensor.dtype.name in _FOLDED
        and extent(loop) >= GPU_COSTS.short_row
        and 1 in strides
        and all(s in (0, 1) for s in strides)
        and not nest.recurrent
        and not nest.enclosing_loops
    )


def _may_join(nest: Nest, depth: int) -> bool:
    """True if a nest sums a row too, or computes elements of one."""
    if nest.enclosing_loops or nest.outer:
        return False
    if nest.reduction:
        return len(nest.spatial) == depth and _sums_row(nest)
    return len(nest.spatial) >= depth and nest.main.update is None


def _scheduled(builder: ScheduleBuilder, rows: list[LoopHandle], nests: list[Nest], depth: int) -> None:
    row = _row(nests, depth)
    for tensor in _held(builder, nests, depth, row):
        builder.try_apply("set_scope", tensor, "register")
    for nest in nests:
        if nest.reduction:
            _sum(builder, nest, row)
        elif len(nest.spatial) > depth:
            _elements(builder, nest, row)
    _bind_rows(builder, rows, row)


def _row(nests: list[Nest], depth: int) -> _Row:
    loops = [(n.reduction or n.spatial[depth:])[-1] for n in nests if n.reduction or len(n.spatial) > depth]
    size = max(a.tensor.dtype.bytes for n in nests for a in n.accesses)
    lengths = {integer(loop.extent) for loop in loops}
    length = lengths.pop() if len(lengths) == 1 else None
    vector = VECTOR_BYTES // size
    if length is None or length % vector or length < LANES * vector:
        vector = 1
    warps = 1
    while warps < GPU_COSTS.row_warps and warps * LANES * vector * GPU_COSTS.row_vectors < max(
        map(extent, loops)
    ):
        warps *= 2
    return _Row(warps, vector, None if length is None else -(-length // (warps * LANES * vector)))


def _held(builder: ScheduleBuilder, nests: list[Nest], depth: int, row: _Row) -> list[Tensor]:
    """Intermediates of which each thread uses only what it has made itself: they stay in its
    registers.
    """
    if row.parts is None or row.parts * row.vector > GPU_COSTS.row_registers:
        return []
    made = {
        n.main.tensor
        for n in nests
        if not n.reduction and len(n.spatial) == depth + 1 and n.main.tensor in builder.kernel.temporaries
    }
    used = [
        (a, (n.reduction or n.spatial[depth:] or (None,))[-1])
        for n in nests
        for a in n.accesses
        if a.tensor in made
    ]
    apart = {a.tensor for a, loop in used if loop is None or a.stride(loop.var) != 1}
    equations = {n.main.equation for n in nests}
    outside = [s for s in stores(builder.kernel) if s.equation not in equations]
    apart |= {n.tensor for n in walk(*outside) if isinstance(n, Read)}
    return sorted(made - apart, key=lambda t: t.name)


@frozen
class _Shares:
    """The loops of a row that threads share.

    Attributes:
        parts: over what all threads have at a time; None if they have all of the row.
        threads: over threads.
        vector: over a thread's neighbours; None if it has one element.
    """

    parts: LoopHandle | None
    threads: LoopHandle
    vector: LoopHandle | None


def _cut(builder: ScheduleBuilder, loop: For, row: _Row) -> _Shares:
    """Cut the loop over a row."""
    parts, inside = builder.split_if_longer(loop, row.step, "guard")
    cut = builder.try_split(inside, row.vector, tail="exact") if row.vector > 1 else None
    return _Shares(parts, *(cut or (inside, None)))


def _bind(builder: ScheduleBuilder, threads: LoopHandle, row: _Row) -> None:
    if row.warps > 1 and (cut := builder.try_split(threads, LANES, tail="guard")) is not None:
        builder.try_apply("bind", cut[0], "thread.y")
        threads = cut[1]
    builder.try_apply("bind", threads, "thread.x")


def _finish(builder: ScheduleBuilder, shares: _Shares, row: _Row) -> None:
    """Bind the threads of a row, and write out what each of them has."""
    _bind(builder, shares.threads, row)
    if shares.vector is not None:
        builder.try_apply("vectorize", shares.vector)
    if (
        shares.parts is not None
        and row.parts is not None
        and row.parts * row.vector <= GPU_COSTS.row_registers
    ):
        builder.try_apply("unroll", shares.parts)


def _elements(builder: ScheduleBuilder, nest: Nest, row: _Row) -> None:
    """Each thread computes its elements of a row."""
    _finish(builder, _cut(builder, nest.spatial[-1], row), row)


def _sum(builder: ScheduleBuilder, nest: Nest, row: _Row) -> None:
    """Threads sum what they have, then lanes are folded, then warps."""
    parts, inside = builder.split_if_longer(nest.reduction[-1], row.step, "guard")
    partial = builder.try_new_buffer("rfactor", inside, reassoc=True)
    if partial is None:
        return
    builder.try_apply("set_scope", partial, "register")
    total, shares = sum_loop(inside), _Shares(parts, inside, None)
    if row.vector > 1:
        shares = _Shares(parts, *(builder.try_split(inside, row.vector, tail="exact") or (inside, None)))
        total = _sum_neighbours(builder, total, row)
    _finish(builder, shares, row)
    _fold(builder, nest, total, row)


def _sum_neighbours(builder: ScheduleBuilder, total: LoopHandle, row: _Row) -> LoopHandle:
    """Each thread adds up its neighbours first; the loop that adds up what threads have then."""
    within, neighbours = builder.try_split(total, row.vector, tail="exact") or (total, None)
    sums = builder.try_new_buffer("rfactor", within, reassoc=True)
    if neighbours is not None:
        builder.try_apply("unroll", neighbours)
    if sums is not None:
        builder.try_apply("set_scope", sums, "register")
    _bind(builder, within, row)
    return sum_loop(within)


def _fold(builder: ScheduleBuilder, nest: Nest, total: LoopHandle, row: _Row) -> None:
    lanes = total
    if row.warps > 1 and (cut := builder.try_split(total, LANES, tail="exact")) is not None:
        warps, lanes = cut
        builder.try_apply("rfactor", warps, reassoc=True)
        builder.try_apply("bind", warps, "thread.y")
    builder.try_apply("tensorize", lanes, f"warp_{nest.main.update}_{nest.main.tensor.dtype}")


def _bind_rows(builder: ScheduleBuilder, rows: list[LoopHandle], row: _Row) -> None:
    while len(rows) > 1 and integer(builder.loop(rows[-1]).extent) == 1:
        rows = rows[:-1]
    if not rows:
        return
    blocks: LoopHandle | None = fuse_known(builder, rows)
    if row.warps == 1:
        blocks, warps = builder.split_if_longer(blocks, GPU_COSTS.rows_per_block, "guard")
        builder.try_apply("bind", warps, "thread.y")
    if blocks is not None:
        builder.try_apply("bind", blocks, "block.x")


def fuse_known(builder: ScheduleBuilder, loops: list[LoopHandle]) -> LoopHandle:
    """Make one loop of neighbouring ones, as far as no iteration has to divide by a size that only
    the call knows; the loop.
    """
    outer = loops[0]
    for inner in loops[1:]:
        if integer(builder.loop(inner).extent) is None:
            break
        name = free_name(builder.kernel, inner.tensor, outer.name + inner.name)
        joined = builder.try_fuse(outer, inner, name)
        if joined is None:
            break
        outer = joined
    return outer
