"""The outermost loop of nests, shared among threads."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.nest import extent
from texpr.schedule.structure.loops import find_loops, loops_around, qualified


@dataclass(slots=True)
class Group:
    """Nests under one outermost loop: the names of the outer loops, of which `joined` hold all of
    the nests, how much runs there, and how often a recurrence repeats it.
    """

    names: list[str]
    work: int
    joined: int
    times: int


def parallelize(builder: ScheduleBuilder, group: Group) -> None:
    """Share the outermost loop among threads; one long loop is cut into chunks first."""
    names = group.names
    if group.work * group.times < COSTS.parallel_work or group.work < COSTS.least_shared or not names:
        return
    first = longest(builder, names[0])
    per_iteration = max(1, group.work // max(1, first))
    if per_iteration < COSTS.chunk // 16 and len(names) == 1:
        outer, _ = builder.split_if_longer(names[0], _chunk(first, max(1, COSTS.chunk // per_iteration)))
        builder.try_apply("parallel", outer or names[0])
        return
    for name in names:
        if longest(builder, name) >= 2 * builder.machine.cores or name == names[-1]:
            if name != names[0]:
                builder.try_apply("reorder", name, *names[: names.index(name)])
            if group.work // _iterations_before(
                builder, name, names
            ) >= COSTS.least_shared and builder.try_apply("parallel", name):
                return


def _iterations_before(builder: ScheduleBuilder, name: str, names: list[str]) -> int:
    """How often a loop starts in a run of those called `names`."""
    return prod(
        max(1, extent(n))
        for n in loops_around(builder.kernel, find_loops(builder.kernel, name)[0])
        if qualified(n) in names
    )


def _chunk(iterations: int, most: int) -> int:
    """Iterations of a chunk: if a quarter of the most allows it, as many as leave no rest, which
    would need code of its own.
    """
    return next((n for n in range(most, most // 4, -1) if iterations % n == 0), most)


def longest(builder: ScheduleBuilder, name: str) -> int:
    """Iterations of the longest loop of a name: where the first and last iterations were peeled
    off, these have loops of their own.
    """
    return max(map(extent, find_loops(builder.kernel, name)))
