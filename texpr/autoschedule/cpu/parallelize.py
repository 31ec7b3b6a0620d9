"""The outermost loop of nests, shared among threads."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import extent
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.schedule.structure.loops import loops_around


@dataclass(slots=True)
class Group:
    """Nests under one outermost loop.

    Attributes:
        loops: the outer loops.
        work: statement instances that run there.
        joined: how many of the loops hold all of the nests.
        times: how often a recurrence repeats the nests.
    """

    loops: list[LoopHandle]
    work: int
    joined: int
    times: int


def parallelize(builder: ScheduleBuilder, group: Group) -> None:
    """Share the outermost loop among threads; one long loop is cut into chunks first."""
    loops = group.loops
    if (
        group.work * group.times < COSTS.parallel_work
        or group.work < CPU_COSTS.started_loop_work
        or not loops
    ):
        return
    loops = [n for n in loops if longest(builder, n) > 1] or loops
    first = longest(builder, loops[0])
    per_iteration = max(1, group.work // max(1, first))
    if per_iteration < CPU_COSTS.chunk_work // 16 and len(loops) == 1:
        outer, _ = builder.split_if_longer(
            loops[0], _chunk(first, max(1, CPU_COSTS.chunk_work // per_iteration))
        )
        builder.try_apply("parallel", outer or loops[0])
        return
    for loop in loops:
        if longest(builder, loop) >= 2 * builder.machine.cores or loop == loops[-1]:
            if loop != loops[0]:
                builder.try_apply("reorder", loop, *loops[: loops.index(loop)])
            if group.work // _iterations_before(
                builder, loop, loops
            ) >= CPU_COSTS.started_loop_work and builder.try_apply("parallel", loop):
                return


def _iterations_before(builder: ScheduleBuilder, loop: LoopHandle, loops: list[LoopHandle]) -> int:
    """The number of times that a loop starts in a run of the outer loops `loops`."""
    around = loops_around(builder.kernel, builder.loop(loop))
    return prod(max(1, extent(n)) for n in around if handle(n) in loops)


def _chunk(iterations: int, most: int) -> int:
    """Iterations of a chunk: if a quarter of the most allows it, as many as leave no rest, which
    would need code of its own.
    """
    return next((n for n in range(most, most // 4, -1) if iterations % n == 0), most)


def longest(builder: ScheduleBuilder, loop: LoopHandle) -> int:
    """Iterations of the longest loop of a handle: where the first and last iterations were peeled
    off, these have loops of their own.
    """
    return max(map(extent, builder.loops(loop)))
