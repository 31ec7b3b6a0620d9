"""Equations in the order in which they can be computed, those that need each other together."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import tensors


def in_cycles(equations: Sequence[Equation | Invoke]) -> list[list[int]]:
    """Positions of the equations, producers first; the textual order where there is a choice.
    Those that need each other stand together.
    """
    producers: dict[Tensor, list[int]] = {}
    for k, e in enumerate(equations):
        for t in e.targets:
            producers.setdefault(t, []).append(k)
    needs = [
        {p for t in read_by(e) for p in producers.get(t, ())}
        | {p for t in e.targets for p in producers[t] if p < k}
        for k, e in enumerate(equations)
    ]
    groups: list[list[int]] = []
    done: set[int] = set()
    while len(done) < len(equations):
        left = [k for k in range(len(equations)) if k not in done]
        group = next(([k] for k in left if needs[k] - {k} <= done), None) or _next_cycle(left, needs, done)
        groups.append(group)
        done |= set(group)
    return groups


def recurrence_cycles(equations: Sequence[Equation | Invoke]) -> list[frozenset[Tensor]]:
    """For each equation the tensors that are computed from its own, and it from them; none if it
    is no recurrence.
    """
    found = [frozenset[Tensor]()] * len(equations)
    for group in in_cycles(equations):
        targets = frozenset(t for k in group for t in equations[k].targets)
        if len(group) > 1 or targets & set(read_by(equations[group[0]])):
            for k in group:
                found[k] = targets
    return found


def _next_cycle(left: list[int], needs: list[set[int]], done: set[int]) -> list[int]:
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


def read_by(equation: Equation | Invoke) -> list[Tensor]:
    """The tensors that an equation reads, those that decide what it computes included."""
    if isinstance(equation, Invoke):
        return list(equation.args)
    below = (*equation.indices, equation.value, *([equation.where] if equation.where is not None else []))
    return list(tensors(*below))
