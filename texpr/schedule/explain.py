"""Why each loop is what it is, as notes behind the loops of a listing."""

from __future__ import annotations

from collections.abc import Mapping

from texpr import poly
from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.schedule.loops import all_loops, private_temporaries
from texpr.support.errors import ScheduleError


def explain(kernel: Kernel) -> Mapping[Var, str]:
    """A few words for every loop that is not obvious: what lets its iterations run at once, or what forbids it."""
    return {loop.var: note for loop in all_loops(kernel) if (note := _note(kernel, loop))}


def _note(kernel: Kernel, loop: For) -> str:
    if loop.kind == "unroll":
        return ""
    if loop.kind != "serial":
        return "proven independent"
    try:
        # What never leaves an iteration could be had once per iteration; it is no reason to keep the order.
        conflict = poly.carried(kernel, loop, private=private_temporaries(kernel, loop))
    except ScheduleError:
        return "not decided within the quota"
    if conflict is None:
        return "independent"
    store = conflict.sink[0]
    if store.update is not None and conflict.source[0] is store:
        return f"in order: accumulates into {conflict.tensor.name}"
    return f"in order: carries {conflict.tensor.name}"
