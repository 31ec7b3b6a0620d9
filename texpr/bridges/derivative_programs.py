"""Derivatives of a program as programs whose arguments are told apart, for frameworks with a
differentiation of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from texpr import autodiff
from texpr.autodiff.cleanup.simplify import without_dead
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.support.frozen_dataclass import frozen, replace

Kind = Literal["input", "output", "cotangent"]


@frozen
class Halves:
    """The two halves of reverse mode, which share residuals.

    Attributes:
        forward: gives the outputs of the program, then residuals.
        backward: gives the cotangents of the inputs in question, in their order.
        sources: what each input of `backward` is: an input of the program, an output of `forward`,
            or the cotangent of a float output; with its position among these.
    """

    forward: Program
    backward: Program
    sources: tuple[tuple[Kind, int], ...]

    def arguments(
        self, inputs: Sequence[object], outputs: Sequence[object], cotangents: Sequence[object]
    ) -> list:
        """The arguments of `backward`."""
        values = {"input": inputs, "output": outputs, "cotangent": cotangents}
        return [values[kind][k] for kind, k in self.sources]


@lru_cache(maxsize=1024)
def halves(program: Program, wrt: tuple[int, ...]) -> Halves:
    """Reverse mode of a program.

    Args:
        wrt: positions of float inputs.
    Raises:
        CheckError: something has no gradient.
    """
    found = autodiff.vjp(program, [program.inputs[k].name for k in wrt])
    inputs = {t.name: k for k, t in enumerate(program.inputs)}
    outputs = {t.name: k for k, t in enumerate(found.forward.outputs)}
    seeds = [t.name for t in found.backward.inputs if t.name not in inputs and t.name not in outputs]
    cotangents = _cotangents(program, seeds)
    sources: list[tuple[Kind, int]] = [
        ("input", inputs[t.name])
        if t.name in inputs
        else ("output", outputs[t.name])
        if t.name in outputs
        else ("cotangent", cotangents[t.name])
        for t in found.backward.inputs
    ]
    return Halves(found.forward, found.backward, tuple(sources))


def _cotangents(program: Program, seeds: Sequence[str]) -> dict[str, int]:
    """The position of the float output that each cotangent belongs to: all of them in order, or
    some, as `register_vjp` names them.
    """
    names = [f"d{t.name}" for t in float_outputs(program)]
    return {n: k for k, n in enumerate(seeds if len(seeds) == len(names) else names)}


@lru_cache(maxsize=1024)
def recomputing(program: Program, wrt: tuple[int, ...]) -> Program:
    """Reverse mode without residuals: inputs, then the cotangents of the float outputs -> the
    cotangents of the inputs in question.

    Raises:
        CheckError: something has no gradient.
    """
    return autodiff.grad(program, [program.inputs[k].name for k in wrt])


@lru_cache(maxsize=1024)
def tangents(program: Program, wrt: tuple[int, ...]) -> Program:
    """Forward mode: inputs, then the tangents of the inputs in question -> the tangents of the float
    outputs.

    Raises:
        CheckError: something has no derivative.
    """
    both = autodiff.jvp(program, [program.inputs[k].name for k in wrt])
    outputs = both.outputs[len(program.outputs) :]
    return replace(both, outputs=outputs, equations=tuple(without_dead(both.equations, outputs)))


def float_outputs(program: Program) -> list[Tensor]:
    """The outputs that have derivatives."""
    return [t for t in program.outputs if t.dtype.is_float]
