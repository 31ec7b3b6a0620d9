"""Sizes become numbers."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.build import TRUE
from texpr.ir.expr import Tensor, Var, index
from texpr.ir.tensor import Program
from texpr.passes.analysis.substitution import folded, over_tensors, resized
from texpr.support.frozen_dataclass import replace


def all_tensors(program: Program) -> tuple[Tensor, ...]:
    """Inputs, outputs and temporaries."""
    return (*program.inputs, *program.outputs, *program.temporaries)


def specialize(program: Program, sizes: Mapping[Var, int]) -> Program:
    """`program` for the given sizes; the others stay symbolic."""
    if not sizes:
        return program
    values = {var: index(n) for var, n in sizes.items()}
    renewed = over_tensors(program, {t: resized(t, values) for t in all_tensors(program)})
    renewed = folded(renewed, values)
    left = tuple(v for v in program.sizes if v not in values)
    return replace(renewed, sizes=left, requires=tuple(r for r in renewed.requires if r is not TRUE))
