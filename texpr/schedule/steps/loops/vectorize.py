"""`vectorize` and `unroll` of loops of any extent: long and symbolic ones are cut into strips
first.
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.schedule.steps.loops.mark import MOST_LANES, inner_name, vectorized
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, span_of
from texpr.support.errors import ScheduleError

LANES = 16


@step(order_of_sums="kept unless lanes run over terms")
def vectorize(kernel: Kernel, loop: str | Var, lanes: int | None = None, *, tail: str = "mask") -> Kernel:
    """Run the iterations in lock step, one per vector lane. SIMD elsewhere.

    for v in 0..n: S   -- vectorize("v", 8) -->   for vo in 0..n/8: for vi in 0..8  vector: S[v := 8*vo + vi]

    Legal if no iteration uses what another one writes. Updates of one element whose order does not
    matter (max, min, integers, and sums marked `reassoc`) are joined over the lanes. Conditions
    become masks. A loop with more than 1,024 or a symbolic number of iterations is cut into strips
    of 16: `vo` counts the strips, `vi` is the vector. Of the loops that `split(tail="peel")` made,
    a symbolic remainder stays serial.

    Args:
        lanes: cut into strips of so many iterations, whatever the extent.
        tail: what becomes of iterations that do not fill a strip, as in `split`.
    Raises:
        ScheduleError: a bad number of lanes, iterations depend on each other, or a tail that would
            change the answer.
        ResourceError: more than 4,096 statements would stand there once vectors are cut to
            registers.
    Example:
        op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
        s = tx.schedule(op)
        s.vectorize("i", 8)
    Refused:
        op = tx.op('''op scatter(G: f32[M], at: i32[M] in 0..N, X: f32[N]) -> Y: f32[N] {
          Y[n] = X[n]
          Y[at[i]] += G[i]
        }''')
        tx.schedule(op).vectorize("i")
    Elsewhere: Halide `vectorize`; TVM `vectorize`; Exo `vectorize`; MLIR
    `transform.structured.vectorize`.
    """
    found = find_loops(kernel, loop)
    if lanes is None and any(
        integer(n.extent) is not None and (integer(n.extent) or 0) <= MOST_LANES for n in found
    ):
        return vectorized(kernel, loop)
    width = LANES if lanes is None else lanes
    if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= MOST_LANES:
        raise ScheduleError(
            f"{width!r} is not a number of lanes from 1 to {MOST_LANES}",
            span_of(kernel, found[0]),
            code="vectorize",
        )
    cut = split(kernel, loop, width, tail="guard" if tail == "mask" else tail)
    return vectorized(cut, inner_name(found[0]))
