"""`tanh_to_sigmoid`: `1 + tanh(u)` becomes a quotient with one exponential: a rewrite of the
equations.

Half of the sum is the logistic function of 2u, as in the approximation of gelu. tanh has to be
right near 0 too, where the sum does not show it, and takes more instructions for that. The
certificate derives the old equations from the new ones
(`poly.certificate.rewrites.tanh_to_sigmoid`).
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir import identities
from texpr.ir.expr import Call
from texpr.ir.identities import shifted_tanh
from texpr.ir.loop import Kernel
from texpr.ir.tensor import Equation
from texpr.ir.traverse import equal, walk
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import with_values

STEP = "tanh_to_sigmoid"


@step("logistic")
def tanh_to_sigmoid(kernel: Kernel, tensor: str) -> Kernel:
    """Compute `1 + tanh(u)` as `2 / (1 + exp(-2 u))`.

    Y[i] = X[i] * (1 + tanh(X[i]))   ->   Y[i] = X[i] * (2 / (1 + exp(-2 * X[i])))

    Legal in f32 and f64; it changes roundings. The quotient is wrong by at most 2^-22 of it in f32
    and 2^-50 in f64; where the sum is small, the difference that it is has lost more. It is a first
    step of a schedule.

    Args:
        tensor: in whose equations the sum stands.
    Raises:
        ScheduleError: another step was applied, no such tensor, or there is no such sum.
    Example:
        op = tx.op("op gate(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * (1 + tanh(X[i])) }")
        s = tx.schedule(op)
        s.tanh_to_sigmoid("Y")
    Refused:
        op = tx.op("op other(X: f32[N]) -> Y: f32[N] { Y[i] = 1 - tanh(X[i]) }")
        tx.schedule(op).tanh_to_sigmoid("Y")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    return with_values(
        kernel,
        tensor,
        STEP,
        identities.tanh_to_sigmoid,
        "1 + tanh(u) of f32 or f64",
        "Y[i] = X[i] * (1 + tanh(X[i]))",
    )


def with_shifted_tanh(kernel: Kernel) -> Iterator[str]:
    """The tensors whose equations have no other use of the tanh of such sums."""
    for e in () if kernel.program is None else kernel.program.equations:
        if not isinstance(e, Equation):
            continue
        nodes = list(walk(e.value))
        sums = [u for n in nodes if (u := shifted_tanh(n)) is not None]
        every = [n.args[0] for n in nodes if isinstance(n, Call) and n.function == "tanh"]
        if sums and all(sum(equal(u, v) for v in every) == sum(equal(u, v) for v in sums) for u in sums):
            yield e.target.name
