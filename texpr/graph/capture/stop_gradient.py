"""Tensors of captured programs through which no gradient flows."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.support.frozen_dataclass import replace


def stopped_copy(t: Tensor) -> Tensor:
    """The tensor that is defined in the place of one that is taken as data."""
    return replace(t, name=f"{t.name}_stopped")


def with_targets(equation: Equation | Invoke, others: Mapping[Tensor, Tensor]) -> Equation | Invoke:
    """The equation with other targets."""
    if isinstance(equation, Invoke):
        return replace(equation, targets=tuple(others.get(t, t) for t in equation.targets))
    return replace(equation, target=others.get(equation.target, equation.target))


def insert_stops(
    equations: list[Equation | Invoke], detached: Mapping[Tensor, Program]
) -> list[Equation | Invoke]:
    """The equations with calls through which no gradient flows, so that this holds wherever they
    become part of.

    Args:
        detached: for each tensor to be stopped, the program of such a call.
    """
    found: list[Equation | Invoke] = []
    for e in equations:
        others = {t: stopped_copy(t) for t in e.targets if t in detached}
        found.append(with_targets(e, others) if others else e)
        found += [Invoke((t,), detached[t], (other,)) for t, other in others.items()]
    return found
