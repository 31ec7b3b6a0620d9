"""`allow_fma`: products are added in one rounding."""

from __future__ import annotations

from texpr.ir.loop import Kernel
from texpr.schedule.steps.registry import step
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

FMA_OF = ("all", "sums")


@step("contract")
def allow_fma(kernel: Kernel, of: str = "all") -> Kernel:
    """Let products and sums be rounded once, as fused multiply-adds. Contraction elsewhere;
    `contract` is another name of the step.

    y += a * b   ->   y = fma(a, b, y)

    Always legal as a change of roundings that you ask for. Of sums it changes results by at most
    the rounding that is left out. Of differences it may change them by all there is: `a * a - b *
    b` of equal numbers is then the rounding error of a product in place of 0, and its root may be
    NaN. So default schedules permit it of sums.

    Args:
        of: `"sums"`: products that are added to a sum of several terms, as in `sum(k: a[k] *
            b[k])` and in updates where iterations meet. Multiples of a sum so far belong to them,
            as in `Y[c] = Y[c - 1] * x + sum(k: a[c, k])`. `"all"`: every `a * b + c` and `a * b -
            c`, also where the parts come from several equations.
    Raises:
        ScheduleError: another word.
    Example:
        op = tx.op('''op product(A: f32[M, K], x: f32[K]) -> y: f32[M] {
          y[i] = sum(k: A[i, k] * x[k])
        }''')
        s = tx.schedule(op)
        s.allow_fma("sums")
    Refused:
        tx.schedule(op).allow_fma("products")
    Elsewhere: Halide none; TVM none; Exo none; MLIR `fastmath<contract>` (an attribute).
    """
    if of not in FMA_OF:
        raise ScheduleError(
            f"allow_fma is for sums or for all, not for {of!r}",
            code="allow_fma",
            help='allow_fma() or allow_fma("sums")',
        )
    return kernel if kernel.fma == "all" else replace(kernel, fma=of)
