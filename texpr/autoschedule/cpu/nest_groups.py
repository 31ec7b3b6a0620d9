"""Nests under one outermost loop: intermediates in the loops of what uses them, then the outermost loop shared among threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, extent
from texpr.autoschedule.cpu.gemm.transposed_operand import Turning
from texpr.autoschedule.cpu.producer_chains import in_common
from texpr.schedule.structure.loops import find_loops, loops_around, qualified

# Statement instances below which waking another thread costs more than it saves (about 10 us of work).
PARALLEL_WORK = 1 << 16
LEAST_SHARED = 1 << 13
"""Of them, each time that a loop inside of others starts, below which threads that are awake wait for each other longer than they work."""
CHUNK = 1 << 14


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A nest, the names of its outer loops, and a copy that is still to be made there."""

    nest: Nest
    names: list[str]
    turning: Turning | None = None


@dataclass(slots=True)
class Group:
    """Nests under one outermost loop: the names of the outer loops, of which `joined` hold all of the nests, how much runs there, and how
    often a recurrence repeats it.
    """

    names: list[str]
    work: int
    joined: int
    times: int


def share_groups(builder: ScheduleBuilder, nests: list[Scheduled]) -> None:
    """Compute tensors in the outer loops of their user where that is legal, then share what is left among threads."""
    groups: list[Group] = []
    copies: list[tuple[Turning, list[str]]] = []
    for each in reversed(nests):
        names = builder.surviving_loops(each.names)
        user = builder.attempt(each.nest.label, partial(_user, builder, each.nest, names, groups), None)
        if user is None:
            groups.append(Group(names, each.nest.work, max(1, len(each.nest.outer)), prod(map(extent, each.nest.again))))
        else:
            user.work += each.nest.work
        if each.turning is not None:
            copies.append((each.turning, names if user is None else user.names))
    turned = {turning.equation for turning, _ in copies}
    for turning, names in copies:
        builder.attempt(turning.own.rpartition(".")[0], partial(turning.make, builder, names, turned), None)
    for group in groups:
        group.names = builder.surviving_loops(group.names)
        builder.attempt("".join(group.names[:1]).rpartition(".")[0], partial(_share, builder, group), None)


def _user(builder: ScheduleBuilder, nest: Nest, names: list[str], groups: list[Group]) -> Group | None:
    """The group in whose loops the nest is computed from now on."""
    tensors = {t.name for t in (*builder.kernel.temporaries, *builder.kernel.outputs)}
    if nest.label.partition(".")[0] not in tensors:
        return None
    return next((g for g in reversed(groups) if _attached(builder, nest, names, g)), None)


def _attached(builder: ScheduleBuilder, nest: Nest, names: list[str], group: Group) -> bool:
    """Whether the nest, with these outer loops, could be moved under the group's joined loops without losing parallelism."""
    if not group.names or max(1, len(nest.outer)) != group.joined:
        return False
    joined, small = group.names[: group.joined], nest.work + group.work < PARALLEL_WORK
    if not small and prod(longest(builder, name) for name in joined) < 2 * builder.machine.cores:
        return False
    before = builder.checkpoint()
    depths = dict.fromkeys((in_common(builder, nest, names, group.names, group.joined), group.joined))
    moved = any(builder.try_apply("compute_at", nest.label, group.names[depth - 1], recompute=False) for depth in depths)
    if moved and not small and nest.recurrent and not builder.can_apply("parallel", joined[0]):
        builder.rollback(before)  # iterations would use what others compute
        return False
    return moved


def _share(builder: ScheduleBuilder, group: Group) -> None:
    """Share the outermost loop among threads; one long loop is cut into chunks first."""
    names = group.names
    if group.work * group.times < PARALLEL_WORK or group.work < LEAST_SHARED or not names:
        return
    first = longest(builder, names[0])
    per_iteration = max(1, group.work // max(1, first))
    if per_iteration < CHUNK // 16 and len(names) == 1:
        outer, _ = builder.split_if_longer(names[0], _chunk(first, max(1, CHUNK // per_iteration)))
        builder.try_apply("parallel", outer or names[0])
        return
    for name in names:
        if longest(builder, name) >= 2 * builder.machine.cores or name == names[-1]:
            if name != names[0]:
                builder.try_apply("reorder", name, *names[: names.index(name)])
            if group.work // _starts(builder, name, names) >= LEAST_SHARED and builder.try_apply("parallel", name):
                return


def _starts(builder: ScheduleBuilder, name: str, names: list[str]) -> int:
    """How often a loop starts in a run of those called `names`."""
    return prod(max(1, extent(n)) for n in loops_around(builder.kernel, find_loops(builder.kernel, name)[0]) if qualified(n) in names)


def _chunk(iterations: int, most: int) -> int:
    """Iterations of a chunk: if a quarter of the most allows it, as many as leave no rest, which would need code of its own."""
    return next((n for n in range(most, most // 4, -1) if iterations % n == 0), most)


def longest(builder: ScheduleBuilder, name: str) -> int:
    """Iterations of the longest loop of a name: where the first and last iterations were peeled off, these have loops of their own."""
    return max(map(extent, find_loops(builder.kernel, name)))
