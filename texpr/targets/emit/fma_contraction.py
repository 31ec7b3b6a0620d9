"""Statements that add the terms of a sum, so that a product may be added to it in one rounding."""

from __future__ import annotations

from functools import lru_cache

from texpr.ir.expr import Add, Mul, Read, Reduce, Var
from texpr.ir.loop import Kernel, Store
from texpr.ir.tensor import Equation, Program


def adds_terms(kernel: Kernel, s: Store) -> bool:
    """True if a store adds one of several terms to an element: of a reduction, or of an update
    whose instances meet in elements.

    `Y[i] += -(b[i] * b[i])` adds one term to each element. It is a difference of what stands there
    and a product: rounded twice.
    """
    if s.update != "add":
        return False
    if kernel.program is None or s.equation not in _single_updates(kernel.program):
        return True
    equation = kernel.program.equations[s.equation]
    assert isinstance(equation, Equation)
    return len(s.at) > len(equation.axes)  # the terms of a reduction in its value


def continues(kernel: Kernel, s: Store) -> bool:
    """True if a store adds the sum of a block to a multiple of the sum so far: `Y[c] = Y[c - 1]
    * x + sum(u: ...)`.
    """
    if s.update is not None or kernel.program is None or s.equation is None:
        return False
    equation = kernel.program.equations[s.equation]
    match s.value, equation:
        case Add(Mul(), _), Equation(target, value=Add(Mul(Read(tensor), _), Reduce("sum"))):
            return tensor is target
    return False


@lru_cache(maxsize=64)
def _single_updates(program: Program) -> frozenset[int]:
    """The equations that update each element once at most."""
    return frozenset(
        k
        for k, e in enumerate(program.equations)
        if isinstance(e, Equation)
        and e.update is not None
        and len({i for i in e.indices if isinstance(i, Var)} & {a.var for a in e.axes}) == len(e.axes)
    )
