"""Equations behind a kernel's loops, for steps that rewrite them."""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.expr import Axis, Expr, Node, Reduce
from texpr.ir.loop import For, Kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, rewrite, variables, walk
from texpr.passes import desugar, hoist, inline_calls, lower
from texpr.passes.loop.simplify_guards import drop_implied
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def equations_of(kernel: Kernel, step: str) -> Program:
    """The equations that the kernel is the naive nest of, each reduction in one of its own.

    Args:
        step: which rewrites them.
    Raises:
        ScheduleError: the loops were changed.
    """
    program = kernel.program
    if program is not None:
        body, plain = drop_implied(kernel).body, desugar(inline_calls(program))
        if equal(body, drop_implied(lower(program)).body):
            return hoist(plain)
        if plain is program and equal(body, drop_implied(loops_of(lazy_logic(program))).body):
            return program  # as a step left it that rewrote equations
    raise ScheduleError(
        f"{step} rewrites the equations, before their loops are changed",
        None,
        code=step,
        help="make it the first step",
    )


def with_values(
    kernel: Kernel, tensor: str, step: str, rule: Callable[[Node], Expr | None], what: str, example: str
) -> Kernel:
    """The nest of the equations of a kernel, those of one tensor rewritten.

    Args:
        rule: what becomes of an expression; None of one that stays.
        what, example: what has to stand in the equations, and an equation that has it.
    Raises:
        ScheduleError: the loops were changed, no such tensor, or nothing is rewritten.
    """
    program, target = equations_of(kernel, step), find_tensor(kernel, tensor)
    own = [e for e in program.equations if isinstance(e, Equation) and e.target.name == target.name]
    new = {id(e): rewrite(e, rule) for e in own}
    if all(new[id(e)] is e for e in own):
        raise ScheduleError(
            f"`{tensor}` has no {what}",
            own[0].span if own else target.span,
            code=step,
            help=f"name a tensor with an equation such as {example}",
        )
    changed = replace(program, equations=tuple(new.get(id(e), e) for e in program.equations))
    return replace(loops_of(lazy_logic(changed)), program=changed, fma=kernel.fma)


def reduction_along(kernel: Kernel, program: Program, loop: For) -> tuple[int, Reduce, Axis] | None:
    """The position of the equation, the reduction in it and the axis that a loop over terms stands
    for; None if it is another loop.

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
