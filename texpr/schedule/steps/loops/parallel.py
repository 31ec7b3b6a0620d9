"""`parallel`: iterations on several cores."""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.ir.loop_kind import PARALLEL
from texpr.schedule.steps.loops.mark import mark_concurrent
from texpr.schedule.steps.registry import step


@step(order_of_sums="kept")
def parallel(kernel: Kernel, loop: str | Var) -> Kernel:
    """Share the iterations among threads.

    for i in 0..n: S   ->   for i in 0..n  parallel: S

    Legal if no iteration uses what another one writes; a temporary that each iteration fills before
    it reads gets a copy per thread.

    Raises:
        ScheduleError: iterations depend on each other.
    """
    return mark_concurrent(kernel, loop, "parallel", PARALLEL)
