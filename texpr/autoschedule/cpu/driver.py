"""Default schedules for CPUs: nests by templates, intermediates in the loops of what uses them,
outermost loops for threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost_model import COSTS
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
from texpr.autoschedule.cpu.finishing.partition_triangles import partition_triangles
from texpr.autoschedule.cpu.finishing.prefetch import insert_prefetch
from texpr.autoschedule.cpu.parallelize import Group, longest, parallelize
from texpr.autoschedule.cpu.producer_chains import in_common
from texpr.ir.loop import For
from texpr.schedule.structure.loops import qualified

FEW_ENDS = 2
"""Iterations of a recurrence that may have code of their own."""


def schedule_cpu(builder: ScheduleBuilder, templates: Sequence[Template]) -> None:
    """Choose the steps for all nests of a kernel."""
    ends = builder.attempt("", lambda: _boundary_iterations(find_nests(builder.kernel)), {})
    _group_nests(builder, _nests(builder, templates))
    finishing = of_stage(templates, Stage.FINISHING)
    for loop in builder.kernel.body:
        if isinstance(loop, For):
            builder.attempt("", partial(apply_first, builder, finishing, loop, loop.tensor), None)
    builder.attempt("", partial(partition_triangles, builder), None)
    for name, (first, last) in ends.items():
        builder.try_apply("peel", name, first, last)
    builder.attempt("", partial(insert_prefetch, builder), None)


def _boundary_iterations(nests: list[Nest]) -> dict[str, tuple[int, int]]:
    """Of loops that repeat sums, how many iterations at the start and end decide what conditions
    inside the sums ask, if they are few.
    """
    found: dict[str, tuple[int, int]] = {}
    for nest in nests:
        for loop in nest.enclosing_loops if nest.reduction else ():
            first, last = boundary_iterations(nest, loop)
            if 0 < first + last <= FEW_ENDS < extent(loop) // COSTS.few_elements:
                known = found.get(qualified(loop), (0, 0))
                found[qualified(loop)] = max(first, known[0]), max(last, known[1])
    return found


def _nests(builder: ScheduleBuilder, templates: Sequence[Template]) -> list[tuple[Nest, Scheduled]]:
    """Every nest scheduled for itself, inside of the loops that it will have in common with
    others.
    """
    nests = find_nests(builder.kernel)
    chains = of_stage(templates, Stage.CHAINS)
    depths = builder.attempt("", partial(apply_first, builder, chains, nests, ""), None) or {}
    done: list[tuple[Nest, Scheduled]] = []
    nests = find_nests(builder.kernel)
    taken: set[int] = set()
    for nest in nests:
        if id(nest) in taken:
            continue
        found = (
            None
            if depths
            else builder.attempt(nest.label, partial(_in_group, builder, templates, nest, nests), None)
        )
        if found is not None:
            done.append((found.members[-1], found))
            taken.update(map(id, found.members))
        elif (whole := builder.current(nest)) is not None:
            as_it_is = Scheduled([qualified(n) for n in whole.spatial])
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
    return apply_first(builder, of_stage(templates, Stage.GROUPS), Among(nest, nests), nest.label)


def _alone(
    builder: ScheduleBuilder, templates: Sequence[Template], whole: Nest, depths: Mapping[str, int]
) -> Scheduled:
    """Schedule one nest, without the outer loops that it has in common with others."""
    nest = whole.below(depths.get(whole.label, 0))
    found = apply_first(builder, of_stage(templates, Stage.NESTS), nest, nest.label)
    outer = [qualified(n) for n in nest.outer]
    return (
        Scheduled(outer + [qualified(n) for n in nest.spatial])
        if found is None
        else replace(found, loops=outer + found.loops)
    )


def _group_nests(builder: ScheduleBuilder, nests: list[tuple[Nest, Scheduled]]) -> None:
    """Compute tensors in the outer loops of their user where that is legal, then share what is
    left among threads.
    """
    groups: list[Group] = []
    copies: list[tuple[DeferredCopy, list[str]]] = []
    for nest, scheduled in reversed(nests):
        names = builder.surviving_loops(scheduled.loops)
        user = builder.attempt(nest.label, partial(_user, builder, nest, names, groups), None)
        if user is None:
            groups.append(
                Group(names, nest.work, max(1, len(nest.outer)), prod(map(extent, nest.enclosing_loops)))
            )
        else:
            user.work += nest.work
        if scheduled.copy is not None:
            copies.append((scheduled.copy, names if user is None else user.names))
    turned = {copy.equation for copy, _ in copies}
    for copy, names in copies:
        builder.attempt(copy.own.rpartition(".")[0], partial(copy.make, builder, names, turned), None)
    for group in groups:
        group.names = builder.surviving_loops(group.names)
        builder.attempt(
            "".join(group.names[:1]).rpartition(".")[0], partial(parallelize, builder, group), None
        )


def _user(builder: ScheduleBuilder, nest: Nest, names: list[str], groups: list[Group]) -> Group | None:
    """The group in whose loops the nest is computed from now on."""
    tensors = {t.name for t in (*builder.kernel.temporaries, *builder.kernel.outputs)}
    if nest.label.partition(".")[0] not in tensors:
        return None
    return next((g for g in reversed(groups) if _try_compute_at(builder, nest, names, g)), None)


def _try_compute_at(builder: ScheduleBuilder, nest: Nest, names: list[str], group: Group) -> bool:
    """Whether the nest, with these outer loops, could be moved under the group's joined loops
    without losing parallelism.
    """
    if not group.names or max(1, len(nest.outer)) != group.joined:
        return False
    joined, small = group.names[: group.joined], nest.work + group.work < COSTS.parallel_work
    if not small and prod(longest(builder, name) for name in joined) < 2 * builder.machine.cores:
        return False
    before = builder.checkpoint()
    depths = dict.fromkeys((in_common(builder, nest, names, group.names, group.joined), group.joined))
    moved = any(
        builder.try_apply("compute_at", nest.label, group.names[depth - 1], recompute=False)
        for depth in depths
    )
    if moved and not small and nest.recurrent and not builder.can_apply("parallel", joined[0]):
        builder.rollback(before)  # iterations would use what others compute
        return False
    return moved
