"""Gradients written by hand, by the name of the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from texpr.ir.tensor import Program

CustomGradient = Callable[[Program, Sequence[str], Sequence[str]], Program | None]
_GRADIENTS: dict[str, CustomGradient] = {}


def register_vjp(name: str, function: CustomGradient) -> None:
    """The gradient of every program called `name` is `function(program, wrt, outputs)`; None means "differentiate as usual".

    Its result has the primal inputs and one cotangent per output in `outputs` as inputs, and one output per name in `wrt`. A later
    registration replaces an earlier one.
    """
    _GRADIENTS[name] = function


def custom_gradient(program: Program, wrt: Sequence[str], outputs: Sequence[str]) -> Program | None:
    """The gradient registered for this program, if there is one and it applies."""
    function = _GRADIENTS.get(program.name)
    return None if function is None else function(program, wrt, outputs)
