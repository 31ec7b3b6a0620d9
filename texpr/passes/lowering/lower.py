"""Tensor IR to loop IR: one naive nest per equation, in an order in which every element is
computed before it is read.
"""

from __future__ import annotations

from functools import lru_cache

from texpr.ir.extern import extern_call
from texpr.ir.loop import Kernel, Stmt
from texpr.ir.tensor import Invoke, Program
from texpr.passes.analysis.equation_cycles import in_cycles, read_by
from texpr.passes.lowering.naive_nest import Nests
from texpr.passes.lowering.recurrences import recurrence
from texpr.passes.tensor.inline_calls import inline_calls
from texpr.passes.tensor.reduction_passes import desugar, hoist
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.support.frozen_dataclass import replace


@lru_cache(maxsize=16)  # asked for by schedules, and by steps that rewrite the equations
def lower(program: Program) -> Kernel:
    """The naive kernel of a program; calls, argmax and nested reductions are rewritten first where
    they are still there.

    Raises:
        CheckError: no order of loops was found for a recurrence.
    """
    return replace(loops_of(hoist(desugar(lazy_logic(inline_calls(program))))), program=program)


def loops_of(program: Program) -> Kernel:
    """The naive kernel of equations that are ready for it: no calls, and a reduction has the axes
    of its equation.

    Raises:
        CheckError: no order of loops was found for a recurrence.
    """
    equations = program.equations
    nests = Nests(program)
    body: list[Stmt] = []
    for group in in_cycles(equations):
        first = equations[group[0]]
        if isinstance(first, Invoke):
            body.append(extern_call(first, group[0]))
            continue
        alone = len(group) == 1 and first.target not in read_by(first)
        body += nests.nest(first, group[0]) if alone else recurrence(program, nests, group)
    return Kernel(
        program.name,
        program.inputs,
        program.outputs,
        (*program.temporaries, *nests.accumulators),
        program.sizes,
        tuple(body),
        requires=program.requires,
        program=program,
    )
