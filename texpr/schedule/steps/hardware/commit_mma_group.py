"""`commit_mma_group`: asynchronous products of all iterations, waited for behind the loop."""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.loop import CommitProducts, Kernel, WaitProducts
from texpr.ir.traverse import rewrite
from texpr.passes.loop.check_async import check_arrivals
from texpr.schedule.steps.hardware.async_mma import as_asynchronous, no_products_error, with_waits_behind
from texpr.schedule.steps.placement.producer import replaced
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, path_to


@step("together")
def commit_mma_group(kernel: Kernel, loop: str | Var) -> Kernel:
    """Begin the products of all iterations of a loop together, and wait for them behind it.

    for k in 0..n: C += A[k] * B[k]   ->   for k in 0..n: C += A[k] * B[k]  asynchronous
                                           commit products
                                           wait 0 products

    As behind `async_mma`, waits with nothing to wait for stand behind loops around.

    Raises:
        ScheduleError: the loop has no products that can be begun, or iterations use what these
            leave.
    """
    found = find_loops(kernel, loop)
    after = kernel
    for old in found:
        *around, main = path_to(after, old)
        marked = rewrite(main, as_asynchronous)
        if marked is not main:
            after = replaced(after, around, (main,), {id(main): (marked, CommitProducts(), WaitProducts(0))})  # type: ignore[arg-type]
            after = with_waits_behind(after, around)
    if after is kernel:
        raise no_products_error(kernel, found[0], "commit_mma_group")
    return check_arrivals(after)
