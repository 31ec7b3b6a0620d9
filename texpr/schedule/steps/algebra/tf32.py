"""`tf32`: the factors of a sum of products of f32 are rounded to what tensor cores take: a rewrite
of the equations.

The certificate derives the old equations from the new ones (`poly.certificate.rewrites.tf32`) and
names the sums.
"""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.identities import rounded_factors
from texpr.ir.loop import Kernel
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of, reduction_along
from texpr.schedule.structure.loops import find_loops, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "tf32"


@step()
def tf32(kernel: Kernel, loop: str | Var) -> Kernel:
    """Round both factors of the products that a loop over terms adds to tf32: 10 bits of fraction,
    halves away from 0.

    C[i, j] = sum(k: A[i, k] * B[k, j])   ->   C[i, j] = sum(k: tf32(A[i, k]) * tf32(B[k, j]))

    Legal for sums of products of f32; it changes roundings. Each factor is wrong by at most 2^-11
    of it, or 2^-137, then; products of such factors are exact in f32. `tensorize` with `mma_tf32`
    wants them so. It is a first step of a schedule.

    Args:
        loop: over terms of a sum of products of f32.
    Raises:
        ScheduleError: another step was applied, or the loop is none over terms of a sum of products
            of f32, or its factors are rounded.
    Example:
        op = tx.op('''op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
          C[i, j] = sum(k: A[i, k] * B[k, j])
        }''')
        s = tx.schedule(op)
        s.tf32("k")
    Refused:
        tx.schedule(op).tf32("i")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    (found, *_) = find_loops(kernel, loop)
    program = equations_of(kernel, STEP)
    along = reduction_along(kernel, program, found)
    if along is None or (new := rounded_factors(along[1])) is None:
        raise ScheduleError(
            f"`{found.var.name}` is no loop over terms of a sum of products of f32 that are not rounded yet",
            span_of(kernel, found),
            code=STEP,
            help="name a loop over terms, such as k of sum(k: A[i, k] * B[k, j])",
        )
    number, old, _ = along
    changed = rewrite(program.equations[number], lambda n: new if n is old else None)
    rounded = replace(
        program, equations=(*program.equations[:number], changed, *program.equations[number + 1 :])
    )
    return replace(loops_of(lazy_logic(rounded)), program=rounded, fma=kernel.fma)
