"""Default schedules for GPUs: which nests share a kernel, what blocks and threads of each do.

Contractions have tiles (`gemm`), those over windows too (`convolution`). Rows of sums have a warp or a block each (`row_reduction`); sums
of columns have threads along the columns and the terms; long sums of few elements are cut into parts, a launch of their own; updates that
meet keep their order (`colliding_updates`), but for those whose elements data chooses: they are atomic, and a thread has one of them; all
else has one thread for each vector of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from operator import is_

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.nest import Nest, extent, free_nests
from texpr.autoschedule.gpu.colliding_updates import bound_apart
from texpr.autoschedule.gpu.convolution import convolved
from texpr.autoschedule.gpu.gemm import contracted
from texpr.autoschedule.gpu.row_reduction import LANES, VECTOR_BYTES, fused, summed_rows
from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.schedule.structure.loops import free_name, qualified

FEW = 64
"""Elements whose sums leave most of the processors idle."""
PART = 1 << 13
"""Terms of a part of a long sum."""
MOST_PARTS = 1 << 9
FEW_THREADS = 512
"""Of a block, where blocks would be few."""
SECTOR = 32
"""Bytes that memory gives at once."""
LONG = 256
"""Terms of a column from which on several threads share it."""


def on_gpu(builder: ScheduleBuilder) -> None:
    """Choose the steps for all nests of a kernel."""
    for nest in filter(None, map(builder.current, free_nests(builder.kernel))):
        builder.attempt(nest.label, partial(_summed, builder, nest), None)
    builder.attempt("", partial(summed_rows, builder), None)
    builder.attempt("", partial(_gathered, builder), None)
    for nest in filter(None, map(builder.current, free_nests(builder.kernel))):
        builder.attempt(nest.label, partial(_bound, builder, nest), None)


def _summed(builder: ScheduleBuilder, nest: Nest) -> None:
    """Schedule a nest as a contraction or a convolution, or cut its sums in parts."""
    if nest.reduction and not (contracted(builder, nest) or convolved(builder, nest)) and not nest.recurrent and not nest.again:
        _in_parts(builder, _one_sum(builder, nest))


def _one_sum(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """Terms that several loops count are counted by one, where they follow each other in memory."""
    pair = next((p for p in zip(nest.reduction, nest.reduction[1:]) if are_one(nest, *p)), None)
    if pair is None:
        return nest
    name = free_name(builder.kernel, pair[0].tensor, pair[0].var.name + pair[1].var.name)
    if not builder.try_apply("fuse", *map(qualified, pair), name=name):
        return nest
    return _one_sum(builder, builder.current(nest) or nest)


def _in_parts(builder: ScheduleBuilder, nest: Nest) -> None:
    """Long sums of few elements: parts of them are computed each on its own, by a launch before."""
    if len(nest.spatial) > 1:
        return
    rows, longest = prod(map(extent, nest.spatial)), max(nest.reduction, key=extent)
    n = integer(longest.extent)
    if rows > FEW or n is None or n < 4 * PART:
        return
    cut = builder.split(qualified(longest), max(PART, -(-n // MOST_PARTS)))
    if cut is not None and builder.try_apply("rfactor", cut[0], reassoc=True) and nest.spatial:
        builder.try_apply("fission", qualified(nest.spatial[0]))


def _gathered(builder: ScheduleBuilder) -> None:
    """What is computed of the same elements is computed by the same threads, the moments and the weight of an optimizer for instance."""
    nests = [n for n in free_nests(builder.kernel) if n.spatial and not (n.reduction or n.again or n.outer or n.main.update)]
    while nests:
        group = [user := nests.pop()]
        for made in reversed(nests):
            joins = any(_of_same_elements(made, n) for n in group)
            if joins and builder.try_apply("compute_at", made.label, qualified(user.spatial[-1]), recompute=False):
                group.append(made)
        nests = [n for n in nests if not any(n is g for g in group)]
        if len(group) > 1:
            _bound(builder, user, group[1:])


def _of_same_elements(made: Nest, user: Nest) -> bool:
    """Whether each iteration of `user` needs what the same iteration of `made` computes, and no other."""
    if len(made.spatial) != len(user.spatial) or any(integer(a.extent) is None or integer(a.extent) != integer(b.extent)
                                                     for a, b in zip(made.spatial, user.spatial)):
        return False
    mates = {a.var: b.var for a, b in zip(made.spatial, user.spatial)}
    wanted = [mates.get(i) for i in made.main.indices if isinstance(i, Var)]
    read = [a.indices for a in user.accesses[1:] if a.tensor is made.main.tensor]
    return bool(read) and all(len(wanted) == len(indices) and all(map(is_, indices, wanted)) for indices in read)


def _bound(builder: ScheduleBuilder, nest: Nest, others: Sequence[Nest] = ()) -> None:
    """Share the elements of a nest among threads, with those of others that are computed at the same time."""
    loops = nest.spatial
    if not loops or all(integer(loop.extent) == 1 for loop in loops):
        return  # a single thread: a loop of one iteration may be over a sum, and cannot be shared
    if nest.reduction and _columns(builder, nest):
        return
    if bound_apart(builder, nest):
        return
    vector, names = ("", [qualified(n) for n in nest.spatial]) if _made_atomic(builder, nest) else _vector(builder, nest, others)
    name = fused(builder, names)
    if (cut := builder.split(name, builder.machine.gpu_threads)) is not None:
        if not nest.again:  # blocks do not wait for each other: what a recurrence repeats is one block's
            builder.try_apply("bind", cut[0], "block.x")
        builder.try_apply("bind", cut[1], "thread.x")
    if vector:
        builder.try_apply("vectorize", vector)


def _made_atomic(builder: ScheduleBuilder, nest: Nest) -> bool:
    """Whether threads may meet in the updates of a nest from now on, which they could not before: each has one then, so that those of a
    warp have neighbours.
    """
    updated = nest.main.update is not None and not nest.reduction and not nest.again
    return updated and builder.try_apply("atomic", nest.main.tensor.name, reassoc=True)


def _vector(builder: ScheduleBuilder, nest: Nest, others: Sequence[Nest]) -> tuple[str, list[str]]:
    """The loop over a thread's neighbours (empty if it has one element), and the loops around it."""
    names, last = [qualified(n) for n in nest.spatial], nest.spatial[-1]
    all_of = [(a, n.spatial[-1].var) for n in (nest, *others) for a in n.accesses]
    lanes = VECTOR_BYTES // max((a.tensor.dtype.bytes for a, var in all_of if a.stride(var) != 0), default=VECTOR_BYTES)
    n = integer(last.extent)
    plain = all(a.stride(var) in (0, 1) for a, var in all_of) and nest.accesses[0].stride(last.var) == 1
    if nest.reduction or nest.again or not plain or lanes < 2 or (n is None or n % lanes) and len(names) > 1:
        return "", names
    if n is not None and n < lanes:
        return "", names
    cut = builder.split(names[-1], lanes)
    return ("", names) if cut is None else (cut[1], [*names[:-1], cut[0]])


def _sums_columns(nest: Nest) -> bool:
    """Whether neighbouring elements are added to neighbouring sums, which are long."""
    if len(nest.reduction) != 1 or extent(nest.reduction[0]) < LONG or nest.main.update not in ("add", "max", "min"):
        return False
    moving = [a for a in nest.accesses[1:] if a.stride(nest.reduction[0].var) != 0]
    steps = [a.stride(nest.spatial[-1].var) for a in (nest.accesses[0], *moving)]
    return steps[0] == 1 and 1 in steps[1:] and all(s in (0, 1) for s in steps)


def _columns(builder: ScheduleBuilder, nest: Nest) -> bool:
    """Sums of columns: neighbouring threads have neighbouring columns, and several threads share the terms of each."""
    if not _sums_columns(nest) or nest.recurrent or nest.again:
        return False
    lanes, groups = _block(builder, nest)
    terms = builder.split(qualified(nest.reduction[0]), groups)
    if terms is None or not builder.try_apply("rfactor", terms[1], reassoc=True):
        return False
    columns = builder.split(qualified(nest.spatial[-1]), lanes)
    if columns is None:
        return False
    builder.try_apply("bind", terms[1], "thread.y")
    builder.try_apply("bind", columns[1], "thread.x")
    builder.try_apply("bind", fused(builder, [*map(qualified, nest.spatial[:-1]), columns[0]]), "block.x")
    return True


def _block(builder: ScheduleBuilder, nest: Nest) -> tuple[int, int]:
    """Columns of a block, and threads that share the terms of each. Where blocks would be few they have as many columns as memory gives at
    once.
    """
    size = max(a.tensor.dtype.bytes for a in nest.accesses[1:] if a.stride(nest.spatial[-1].var) == 1)
    few = prod(map(extent, nest.spatial)) < LANES * builder.machine.processors
    lanes = min(LANES, SECTOR // size) if few else LANES
    if extent(nest.reduction[0]) < 4 * LONG:
        return lanes, LANES // 4
    return lanes, FEW_THREADS // lanes if few else LANES
