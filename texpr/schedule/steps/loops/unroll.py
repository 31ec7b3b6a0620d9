"""`unroll`: the iterations of a loop one after the other, without a loop."""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.schedule.steps.loops.mark import inner_name, unrolled
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops

COPIES = 4


@step(order_of_sums="kept unless lanes run over terms")
def unroll(kernel: Kernel, loop: str | Var, factor: int | None = None, *, tail: str = "peel") -> Kernel:
    """Write the iterations out. Always legal: the order is unchanged.

    for v in 0..3: S   ->   S[v := 0]; S[v := 1]; S[v := 2]

    A loop with a symbolic number of iterations is cut into strips of 4 first: `vo` counts the
    strips, `vi` is written out.

    Args:
        factor: cut into strips of so many iterations, whatever the extent.
        tail: what becomes of iterations that do not fill a strip, as in `split`.
    Raises:
        ScheduleError: a bad factor or tail.
        ResourceError: more than 4,096 statements would stand there.
    Example:
        op = tx.op('''op smooth(X: f32[N], w: f32[3]) -> Y: f32[N] {
          Y[i] = sum(k: X[i + k - 1 | 0] * w[k])
        }''')
        s = tx.schedule(op)
        s.unroll("k")
    Refused:
        tx.schedule(op, N=100_000).split("i", 10_000).unroll("ii")
    Elsewhere: Halide `unroll`; TVM `unroll`; Exo `unroll_loop`; MLIR `transform.loop.unroll`.
    """
    found = find_loops(kernel, loop)
    if factor is None and any(integer(n.extent) is not None for n in found):
        return unrolled(kernel, loop)
    return unrolled(
        split(kernel, loop, COPIES if factor is None else factor, tail=tail), inner_name(found[0])
    )
