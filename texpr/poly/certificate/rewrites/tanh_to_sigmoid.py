"""Sums `1 + tanh(u)` that are quotients: what `logistic` claims, read off the new equations.

Said: Y[i] = 1 + tanh(u). Computed: Y[i] = 2 / (1 + exp(-2 u)). They are the same number and are rounded otherwise: the certificate says
which equations have such quotients, and proves that there is no other difference.
"""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.identities import is_sigmoid, shifted_tanh, tanh_to_sigmoid
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, walk


def with_quotients(said: Program, computed: Program) -> tuple[Program, tuple[str, ...]]:
    """What is said, with quotients for such sums in the equations where another program has some; the targets of those."""
    having, summing = set[str](), set[str]()
    for e in computed.equations:
        if isinstance(e, Equation):
            having |= {e.target.name for n in walk(e.value) if is_sigmoid(n)}
            summing |= {e.target.name for n in walk(e.value) if shifted_tanh(n) is not None}
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for old in said.equations:
        changed = rewrite(old, tanh_to_sigmoid) if isinstance(old, Equation) and old.target.name in having - summing else old
        if changed is not old and isinstance(old, Equation):
            names.append(old.target.name)
        equations.append(changed)
    return replace(said, equations=tuple(equations)), tuple(dict.fromkeys(names))
