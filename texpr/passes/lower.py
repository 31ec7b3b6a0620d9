"""Tensor IR to loop IR: one naive nest per equation, in an order in which every element is computed before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from texpr.ir.expr import Tensor
from texpr.ir.extern import extern_call
from texpr.ir.loop import Kernel, Stmt
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import tensors
from texpr.passes.inline import inline_calls
from texpr.passes.lazy import lazy_logic
from texpr.passes.nests import Nests
from texpr.passes.recurrences import recurrence
from texpr.passes.reductions import desugar, hoist


@lru_cache(maxsize=16)  # asked for by schedules, and by steps that rewrite the equations
def lower(program: Program) -> Kernel:
    """The naive kernel of a program; calls, argmax and nested reductions are rewritten first where they are still there.

    Raises:
        CheckError: no order of loops was found for a recurrence.
    """
    return replace(loops_of(hoist(desugar(lazy_logic(inline_calls(program))))), program=program)


def loops_of(program: Program) -> Kernel:
    """The naive kernel of equations that are ready for it: no calls, and a reduction has the axes of its equation.

    Raises:
        CheckError: no order of loops was found for a recurrence.
    """
    equations = program.equations
    nests = Nests(program)
    body: list[Stmt] = []
    for group in in_groups(equations):
        first = equations[group[0]]
        if isinstance(first, Invoke):
            body.append(extern_call(first, group[0]))
            continue
        alone = len(group) == 1 and first.target not in _read(first)
        body += nests.nest(first, group[0]) if alone else recurrence(program, nests, group)
    return Kernel(program.name, program.inputs, program.outputs, (*program.temporaries, *nests.accumulators), program.sizes, tuple(body),
                  requires=program.requires, program=program)


def in_groups(equations: Sequence[Equation | Invoke]) -> list[list[int]]:
    """Positions of the equations, producers first; the textual order where there is a choice. Those that need each other stand together."""
    producers: dict[Tensor, list[int]] = {}
    for k, e in enumerate(equations):
        for t in _targets(e):
            producers.setdefault(t, []).append(k)
    needs = [{p for t in _read(e) for p in producers.get(t, ())} | {p for t in _targets(e) for p in producers[t] if p < k}
             for k, e in enumerate(equations)]
    groups: list[list[int]] = []
    done: set[int] = set()
    while len(done) < len(equations):
        left = [k for k in range(len(equations)) if k not in done]
        group = next(([k] for k in left if needs[k] - {k} <= done), None) or _circle(left, needs, done)
        groups.append(group)
        done |= set(group)
    return groups


def _circle(left: list[int], needs: list[set[int]], done: set[int]) -> list[int]:
    """Equations that all need each other, and nothing else that is not done."""
    below = {k: _below(k, needs, done) for k in left}
    first = min(left, key=lambda k: (len(below[k]), k))
    return [k for k in left if k in below[first] and below[k] == below[first]]


def _below(start: int, needs: list[set[int]], done: set[int]) -> set[int]:
    found: set[int] = set()
    stack = [start]
    while stack:
        new = needs[stack.pop()] - done - found
        found |= new
        stack += new
    return found


def _targets(equation: Equation | Invoke) -> tuple[Tensor, ...]:
    return equation.targets if isinstance(equation, Invoke) else (equation.target,)


def _read(equation: Equation | Invoke) -> list[Tensor]:
    if isinstance(equation, Invoke):
        return list(equation.args)
    below = (*equation.indices, equation.value, *([equation.where] if equation.where is not None else []))
    return list(tensors(*below))
