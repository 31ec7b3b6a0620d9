"""Updates that meet: several iterations of a nest add to one element of its target, such as windows that are added where they overlap.

Loops that no two such iterations differ in are blocks. Of the others, those that differ only together with another one, which is run in
order around them, are threads of a block: between two of that one's iterations they wait for each other. Sums keep their order.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.gpu.row_reduction import fused
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import Store
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import unclamped
from texpr.schedule.structure.loops import qualified


def bound_apart(builder: ScheduleBuilder, nest: Nest) -> bool:
    """Bind the loops of a nest whose updates meet; whether they do and some could be bound."""
    if nest.again or not _meets(builder, nest):
        return False
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
    """Whether an index of something that is updated is a sum of several loops; not of a nest whose parts are computed before."""
    loops = {n.var for n in nest.spatial}
    there = builder.surviving_loops([qualified(nest.spatial[0])])
    updates = [s for s in walk(*map(builder.loop, there)) if isinstance(s, Store) and s.update is not None]
    return any(sum(bool(linear(unclamped(i)).coefficient(v)) for v in loops) > 1 for s in updates for i in s.indices)


def _leads(builder: ScheduleBuilder, names: list[str], name: str) -> bool:
    """Whether the iterations of a loop can run at once with all the others inside of them."""
    before = builder.checkpoint()
    found = builder.try_apply("reorder", name, *(each for each in names if each != name)) and builder.can_apply("parallel", name)
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
