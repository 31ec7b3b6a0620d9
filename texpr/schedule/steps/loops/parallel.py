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
    Example:
        op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
        s = tx.schedule(op)
        s.parallel("i")
    Refused:
        op = tx.op('''op wave(X: f32[M, N]) -> A: f32[M, N] {
          A[i, j] = max(A[i - 1, j | 0], A[i, j - 1 | 0]) + X[i, j]
        }''')
        tx.schedule(op).parallel("i")
    Elsewhere: Halide `parallel`; TVM `parallel`; Exo `parallelize_loop`; MLIR `affine-parallelize`
    (a pass).
    """
    return mark_concurrent(kernel, loop, "parallel", PARALLEL)
