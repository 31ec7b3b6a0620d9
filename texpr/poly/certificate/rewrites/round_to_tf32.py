"""Sums whose factors are rounded to tf32: what `tf32` claims, read off the new equations.

Said: C[i] = sum(k: A[i, k] * B[k]). Computed: C[i] = sum(k: tf32(A[i, k]) * tf32(B[k])). No law of numbers makes them equal: the
certificate says which sums have such factors, and proves that there is no other difference.
"""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.expr import Mul, Node, Reduce
from texpr.ir.identities import is_rounded, rounded_factors
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, walk


def with_rounded(said: Program, computed: Program) -> tuple[Program, tuple[str, ...]]:
    """What is said, with rounded factors in the sums where another program has them; the targets of those."""
    waiting: dict[str, list[Equation]] = {}
    for e in computed.equations:
        if isinstance(e, Equation):
            waiting.setdefault(e.target.name, []).append(e)
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for old in said.equations:
        left = waiting.get(old.target.name, []) if isinstance(old, Equation) else []
        new = left.pop(0) if left else None
        changed = rewrite(old, _rounding) if new is not None and _rounds(new) else old
        if changed is not old and isinstance(old, Equation):
            names.append(old.target.name)
        equations.append(changed)
    return replace(said, equations=tuple(equations)), tuple(dict.fromkeys(names))


def _rounding(n: Node) -> Node | None:
    return rounded_factors(n)


def _rounds(e: Equation) -> bool:
    return any(isinstance(n, Reduce) and isinstance(n.body, Mul) and is_rounded(n.body.lhs) and is_rounded(n.body.rhs)
               for n in walk(e.value))
