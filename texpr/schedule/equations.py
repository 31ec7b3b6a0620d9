"""Equations behind a kernel's loops, for steps that rewrite them."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.expr import Axis, Reduce
from texpr.ir.loop import For, Kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, variables, walk
from texpr.passes import desugar, hoist, inline_calls, lower
from texpr.passes.guards import drop_implied
from texpr.passes.lazy import lazy_logic
from texpr.passes.lower import loops_of
from texpr.schedule.loops import stores
from texpr.support.errors import ScheduleError


def equations_of(kernel: Kernel, step: str) -> Program:
    """The equations that the kernel is the naive nest of, each reduction in one of its own.

    Args:
        step: which rewrites them.
    Raises:
        ScheduleError: the loops were changed.
    """
    program = kernel.program
    if program is not None:
        body = drop_implied(kernel).body
        if equal(body, drop_implied(lower(program)).body):
            return hoist(desugar(inline_calls(program)))
        if equal(body, drop_implied(loops_of(lazy_logic(program))).body):
            return program  # as a step left it that rewrote equations
    raise ScheduleError(f"{step} rewrites the equations, before their loops are changed", None, code=step, help="make it the first step")


def reduction_along(kernel: Kernel, program: Program, loop: For) -> tuple[int, Reduce, Axis] | None:
    """The position of the equation, the reduction in it and the axis that a loop over terms stands for; None if it is another loop.

    Args:
        program: what `equations_of` gives.
    """
    for s in stores(replace(kernel, body=(loop,))):
        e = program.equations[s.equation] if s.update is not None and s.equation is not None else None
        if not isinstance(e, Equation) or s.tensor is e.target:
            continue
        reduction = next(n for n in walk(e.value) if isinstance(n, Reduce))
        for axis, term in zip(reduction.axes, s.at[len(s.at) - len(reduction.axes) :], strict=True):
            if loop.var in variables(term):
                return s.equation, reduction, axis
    return None
