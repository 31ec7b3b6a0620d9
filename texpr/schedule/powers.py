"""`base2`: exponentials become powers of 2, for which processors have an instruction: a rewrite of the equations.

The certificate derives the old equations from the new ones (`poly.certify.powers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from texpr.ir.loop import Kernel
from texpr.ir.powers import as_power
from texpr.ir.tensor import Equation
from texpr.ir.traverse import rewrite, walk
from texpr.passes.lazy import lazy_logic
from texpr.passes.lower import loops_of
from texpr.schedule.equations import equations_of
from texpr.schedule.tensors import find_tensor
from texpr.support.errors import ScheduleError

STEP = "base2"


def base2(kernel: Kernel, tensor: str) -> Kernel:
    """Compute exponentials of f32 as powers of 2.

    e[i] = exp(s[i] - m)   ->   e[i] = exp2(1.442695 * (s[i] - m))

    exp(u) is wrong by at most abs(u) * 2^-23 of it beside what exp2 is: the product is rounded, and so is its factor. On a GPU exp2 of
    f32 is an instruction, within 2^-22, for which what is below 2^-126 is 0. It comes before steps that change loops.

    Args:
        tensor: in whose equations the exponentials stand.
    Raises:
        ScheduleError: loops were changed, no such tensor, or it has no exponentials.
    """
    program, target = equations_of(kernel, STEP), find_tensor(kernel, tensor)
    equations = [rewrite(e, as_power) if isinstance(e, Equation) and e.target.name == target.name else e for e in program.equations]
    if all(new is old for new, old in zip(equations, program.equations, strict=True)):
        span = next((e.span for e in program.equations if isinstance(e, Equation) and e.target.name == target.name), target.span)
        raise ScheduleError(f"`{tensor}` has no exponential of f32", span, code=STEP,
                            help="name a tensor with an equation such as e[i] = exp(s[i] - m)")
    changed = replace(program, equations=tuple(equations))
    return replace(loops_of(lazy_logic(changed)), program=changed, contract=kernel.contract)


def with_exponentials(kernel: Kernel) -> Iterator[str]:
    """The tensors whose equations have exponentials of f32."""
    for e in () if kernel.program is None else kernel.program.equations:
        if isinstance(e, Equation) and any(as_power(n) is not None for n in walk(e.value)):
            yield e.target.name
