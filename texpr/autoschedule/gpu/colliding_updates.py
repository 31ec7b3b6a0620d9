"""Updates that meet: several iterations of a nest add to one element of its target, such as windows
that are added where they overlap.

Loops that no two such iterations differ in are blocks. Of the others, those that differ only
together with another one, which is run in order around them, are threads of a block: between two of
that one's iterations they wait for each other. Sums keep their order.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.row_reduction import fused
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import Store
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import unclamped
from texpr.schedule.structure.loops import qualified


class CollidingUpdates:
    """Updates of which several iterations have the same element, in the order that they have."""

    name, stage = "CollidingUpdates", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if its updates meet."""
        if nest.enclosing_loops or not nest.spatial:
            return NoMatch("repeated by a recurrence, or without loops over elements")
        return nest if _meets(builder, nest) else NoMatch("no index of an update is a sum of several loops")

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled | None:
        """Bind loops that no two iterations which meet differ in."""
        return Scheduled([]) if _bound_apart(builder, match) else None


def _bound_apart(builder: ScheduleBuilder, nest: Nest) -> bool:
    """Bind the loops of a nest whose updates meet; whether some could be bound."""
    names = [qualified(n) for n in nest.spatial]
    blocks = [name for name in names if _leads(builder, names, name)]
    inside = [name for name in names if name not in blocks]
    threads = [name for name in inside if builder.can_apply("parallel", name)]
    in_order = [name for name in inside if name not in threads]
    order = [*blocks, *in_order, *threads]
    if not blocks or (order != names and not builder.try_apply("reorder", *order)):
        return False
    _bind(builder, fused(builder, blocks), fused(builder, threads) if threads else "")
    return True


def _meets(builder: ScheduleBuilder, nest: Nest) -> bool:
    """Whether an index of something that is updated is a sum of several loops; not of a nest
    whose parts are computed before.
    """
    loops = {n.var for n in nest.spatial}
    there = builder.surviving_loops([qualified(nest.spatial[0])])
    updates = [s for s in walk(*map(builder.loop, there)) if isinstance(s, Store) and s.update is not None]
    return any(
        sum(bool(linear(unclamped(i)).coefficient(v)) for v in loops) > 1 for s in updates for i in s.indices
    )


def _leads(builder: ScheduleBuilder, names: list[str], name: str) -> bool:
    """Whether the iterations of a loop can run at once with all the others inside of them."""
    before = builder.checkpoint()
    found = builder.try_apply(
        "reorder", name, *(each for each in names if each != name)
    ) and builder.can_apply("parallel", name)
    builder.rollback(before)
    return found


def _bind(builder: ScheduleBuilder, block: str, thread: str) -> None:
    """Without loops for the threads of a block, blocks share what they would do one by one."""
    most = builder.machine.gpu_threads
    if not thread:
        cut = builder.split(block, most)
        block, thread = cut or (block, "")
    elif (integer(builder.loop(thread).extent) or most + 1) > most:
        thread = (builder.split(thread, most) or ("", ""))[1]
    builder.try_apply("bind", block, "block.x")
    if thread:
        builder.try_apply("bind", thread, "thread.x")
