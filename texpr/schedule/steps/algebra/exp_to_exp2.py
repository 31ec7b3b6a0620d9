"""`exp_to_exp2`: exponentials become powers of 2, for which processors have an instruction: a
rewrite of the equations.

The certificate derives the old equations from the new ones
(`poly.certificate.rewrites.exp_to_exp2`).
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir import identities
from texpr.ir.loop import Kernel
from texpr.ir.tensor import Equation
from texpr.ir.traverse import walk
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import with_values

STEP = "exp_to_exp2"


@step("base2")
def exp_to_exp2(kernel: Kernel, tensor: str) -> Kernel:
    """Compute exponentials of f32 as powers of 2.

    e[i] = exp(s[i] - m)         ->   e[i] = exp2(1.442695 * (s[i] - m))
    e[i] = exp((s[i] - m) * k)   ->   e[i] = exp2((1.442695 * k) * (s[i] - m))   if k is one number for all

    Legal for f32; it changes roundings. exp(u) is wrong by at most abs(u) * 2^-23 of it beside what
    exp2 is: the product is rounded, and so is its factor. With a factor k of u, which is rounded
    once more, it is abs(u) * 2^-22. On a GPU such a power is an instruction, within 2^-22, for
    which what is below 2^-126 is 0. It comes before steps that change loops.

    Args:
        tensor: in whose equations the exponentials stand.
    Raises:
        ScheduleError: loops were changed, no such tensor, or it has no exponentials.
    Example:
        op = tx.op('''op weights(X: f32[M, N]) -> e: f32[M, N] {
          m[i] = max(j: X[i, j])
          e[i, j] = exp(X[i, j] - m[i])
        }''')
        s = tx.schedule(op)
        s.exp_to_exp2("e")
    Refused:
        tx.schedule(op).exp_to_exp2("m")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    return with_values(
        kernel, tensor, STEP, identities.exp_to_exp2, "exponential of f32", "e[i] = exp(s[i] - m)"
    )


def with_exponentials(kernel: Kernel) -> Iterator[str]:
    """The tensors whose equations have exponentials of f32."""
    for e in () if kernel.program is None else kernel.program.equations:
        if isinstance(e, Equation) and any(identities.exp_to_exp2(n) is not None for n in walk(e.value)):
            yield e.target.name
