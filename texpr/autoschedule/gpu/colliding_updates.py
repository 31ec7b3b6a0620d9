"""Updates that meet: several iterations of a nest add to one element of its target, such as windows
that are added where they overlap.

Loops that no two such iterations differ in are blocks. Of the others, those that differ only
together with another one, which is run in order around them, are threads of a block: between two of
that one's iterations they wait for each other. Sums keep their order.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.row_reduction import fuse_known
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import Store
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import unclamped


class CollidingUpdates:
    """Updates of which several iterations have the same element, in the order that they have."""

    name, stage = "CollidingUpdates", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if its updates meet."""
        if nest.enclosing_loops or not nest.spatial:
            return NoMatch("repeated by a recurrence, or without loops over elements")
        return nest if _meets(builder, nest) else NoMatch("no index of an update is a sum of several loops")

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled | NoMatch:
        """Bind loops that no two iterations which meet differ in."""
        loops = handles(match.spatial)
        blocks = [loop for loop in loops if _leads(builder, loops, loop)]
        if not blocks:
            return NoMatch("iterations of every loop meet")
        inside = [loop for loop in loops if loop not in blocks]
        threads = [loop for loop in inside if builder.can_apply("parallel", loop)]
        in_order = [loop for loop in inside if loop not in threads]
        order = [*blocks, *in_order, *threads]
        if order != loops:
            builder.apply("reorder", *order)
        _bind(builder, fuse_known(builder, blocks), fuse_known(builder, threads) if threads else None)
        return Scheduled([])


def _meets(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if an index of something that is updated is a sum of several loops; not of a nest whose
    parts are computed before.
    """
    loops = {n.var for n in nest.spatial}
    outermost = builder.loops(handle(nest.spatial[0]))[:1]
    updates = [s for s in walk(*outermost) if isinstance(s, Store) and s.update is not None]
    return any(
        sum(bool(linear(unclamped(i)).coefficient(v)) for v in loops) > 1 for s in updates for i in s.indices
    )


def _leads(builder: ScheduleBuilder, loops: list[LoopHandle], loop: LoopHandle) -> bool:
    """True if the iterations of a loop can run at once with all the others inside of them."""
    before = builder.checkpoint()
    found = builder.try_apply(
        "reorder", loop, *(each for each in loops if each != loop)
    ) and builder.can_apply("parallel", loop)
    builder.rollback(before)
    return found


def _bind(builder: ScheduleBuilder, block: LoopHandle, thread: LoopHandle | None) -> None:
    """Bind loops; without one for the threads of a block, blocks share what they would do one by
    one.
    """
    most = builder.machine.gpu_threads
    if thread is None:
        block, thread = builder.try_split(block, most) or (block, None)
    elif (integer(builder.loop(thread).extent) or most + 1) > most:
        cut = builder.try_split(thread, most)
        thread = None if cut is None else cut[1]
    builder.try_apply("bind", block, "block.x")
    if thread is not None:
        builder.try_apply("bind", thread, "thread.x")
