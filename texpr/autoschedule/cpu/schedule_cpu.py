"""Default schedules for CPUs: nests by templates, intermediates in the loops of what uses them,
outermost loops for threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, boundary_iterations, extent, find_nests
from texpr.autoschedule.core.template import (
    Among,
    DeferredCopy,
    Scheduled,
    Stage,
    Template,
    apply_first,
    of_stage,
)
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.autoschedule.cpu.finishing.partition_triangles import partition_triangles
from texpr.autoschedule.cpu.finishing.prefetch import insert_prefetch
from texpr.autoschedule.cpu.finishing.stream_prefetch import prefetch_streams
from texpr.autoschedule.cpu.parallelize import Group, longest, parallelize
from texpr.autoschedule.cpu.producer_chains import in_common
from texpr.ir.loop import For
from texpr.support.frozen_dataclass import replace


def schedule_cpu(builder: ScheduleBuilder, templates: Sequence[Template]) -> None:
    """Choose the steps for all nests of a kernel."""
    ends = builder.attempt(None, lambda: _boundary_iterations(find_nests(builder.kernel)), {})
    _group_nests(builder, _nests(builder, templates))
    finishing = of_stage(templates, Stage.FINISHING)
    for loop in builder.kernel.body:
        if isinstance(loop, For):
            builder.attempt(None, partial(apply_first, builder, finishing, loop, loop.tensor), None)
    builder.attempt(None, partial(partition_triangles, builder), None)
    for loop, (first, last) in ends.items():
        builder.try_apply("peel", loop, first, last)
    builder.attempt(None, partial(insert_prefetch, builder), None)
    builder.attempt(None, partial(prefetch_streams, builder), None)


def _boundary_iterations(nests: list[Nest]) -> dict[LoopHandle, tuple[int, int]]:
    """Of loops that repeat sums, how many iterations at the start and end decide what conditions
    inside the sums ask, if they are few.
    """
    found: dict[LoopHandle, tuple[int, int]] = {}
    for nest in nests:
        for loop in nest.enclosing_loops if nest.reduction else ():
            first, last = boundary_iterations(nest, loop)
            most = CPU_COSTS.peeled_iterations
            if 0 < first + last <= most < extent(loop) // CPU_COSTS.repetitions_per_peeled:
                known = found.get(handle(loop), (0, 0))
                found[handle(loop)] = max(first, known[0]), max(last, known[1])
    return found


def _nests(builder: ScheduleBuilder, templates: Sequence[Template]) -> list[tuple[Nest, Scheduled]]:
    """Every nest scheduled for itself, inside of the loops that it will have in common with
    others.
    """
    nests = find_nests(builder.kernel)
    chains = of_stage(templates, Stage.CHAINS)
    depths = builder.attempt(None, partial(apply_first, builder, chains, nests, None), None) or {}
    done: list[tuple[Nest, Scheduled]] = []
    nests = find_nests(builder.kernel)
    below = [n.below(depths.get(n.label, 0)) for n in nests]
    taken: set[int] = set()
    for nest, inside in zip(nests, below):
        if id(inside) in taken:
            continue
        found = builder.attempt(nest.label, partial(_in_group, builder, templates, inside, below), None)
        if found is not None:
            done.append((found.members[-1], found))
            taken.update(map(id, found.members))
        elif (whole := builder.current(nest)) is not None:
            as_it_is = Scheduled(handles(whole.spatial))
            scheduled = builder.attempt(
                whole.label, partial(_alone, builder, templates, whole, depths), as_it_is
            )
            done.append(
                (whole if scheduled is as_it_is else whole.below(depths.get(whole.label, 0)), scheduled)
            )
    return done


def _in_group(
    builder: ScheduleBuilder, templates: Sequence[Template], nest: Nest, nests: Sequence[Nest]
) -> Scheduled | None:
    """Schedule a nest with those behind it that write beside each other; None where it is no
    such one.
    """
    found = apply_first(builder, of_stage(templates, Stage.GROUPS), Among(nest, nests), nest.label)
    return None if found is None else replace(found, loops=handles(found.members[-1].outer) + found.loops)


def _alone(
    builder: ScheduleBuilder, templates: Sequence[Template], whole: Nest, depths: Mapping[str, int]
) -> Scheduled:
    """Schedule one nest, without the outer loops that it has in common with others."""
    nest = whole.below(depths.get(whole.label, 0))
    found = apply_first(builder, of_stage(templates, Stage.NESTS), nest, nest.label)
    outer = handles(nest.outer)
    return (
        Scheduled(outer + handles(nest.spatial))
        if found is None
        else replace(found, loops=outer + found.loops)
    )


def _group_nests(builder: ScheduleBuilder, nests: list[tuple[Nest, Scheduled]]) -> None:
    """Compute tensors in the outer loops of their user where that is legal, then share what is
    left among threads.
    """
    groups: list[Group] = []
    copies: list[tuple[DeferredCopy, list[LoopHandle]]] = []
    for nest, scheduled in reversed(nests):
        loops = builder.surviving_loops(scheduled.loops)
        user = builder.attempt(nest.label, partial(_user, builder, nest, loops, groups), None)
        work = sum(each.work for each in scheduled.members or (nest,))
        if user is None:
            groups.append(
                Group(loops, work, max(1, len(nest.outer)), prod(map(extent, nest.enclosing_loops)))
            )
        else:
            user.work += work
        if scheduled.copy is not None:
            copies.append((scheduled.copy, loops if user is None else user.loops))
    turned = {copy.equation for copy, _ in copies}
    for copy, loops in copies:
        label = None if copy.own is None else copy.own.tensor
        builder.attempt(label, partial(copy.make, builder, loops, turned), None)
    for group in groups:
        group.loops = builder.surviving_loops(group.loops)
        label = group.loops[0].tensor if group.loops else None
        builder.attempt(label, partial(parallelize, builder, group), None)


def _user(builder: ScheduleBuilder, nest: Nest, loops: list[LoopHandle], groups: list[Group]) -> Group | None:
    """The group in whose loops the nest is computed from now on."""
    tensors = {t.name for t in (*builder.kernel.temporaries, *builder.kernel.outputs)}
    if nest.label.partition(".")[0] not in tensors or builder.is_kept(nest.main.tensor):
        return None
    return next((g for g in reversed(groups) if _try_compute_at(builder, nest, loops, g)), None)


def _try_compute_at(builder: ScheduleBuilder, nest: Nest, loops: list[LoopHandle], group: Group) -> bool:
    """True if the nest, with these outer loops, could be moved under the group's joined loops
    without losing parallelism.
    """
    if not group.loops or max(1, len(nest.outer)) != group.joined:
        return False
    joined, small = group.loops[: group.joined], nest.work + group.work < COSTS.parallel_work
    if not small and prod(longest(builder, loop) for loop in joined) < 2 * builder.machine.cores:
        return False
    before = builder.checkpoint()
    depths = dict.fromkeys((in_common(builder, nest, loops, group.loops, group.joined), group.joined))
    moved = any(
        builder.try_apply("compute_at", nest.label, group.loops[depth - 1], recompute=False)
        for depth in depths
    )
    if moved and not small and nest.recurrent and not builder.can_apply("parallel", joined[0]):
        builder.rollback(before)  # iterations would use what others compute
        return False
    return moved
