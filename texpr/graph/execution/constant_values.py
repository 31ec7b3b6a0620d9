"""Values of results that depend on constants alone, for readers of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.execution.plan import Plan
from texpr.graph.fusion.flops import iterations
from texpr.graph.passes.flatten_calls import flatten
from texpr.ir.expr import Tensor
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Invoke, Program
from texpr.passes.analysis.equation_cycles import in_cycles, read_by

FEW, ONE_BY_ONE, MANY = 1 << 8, 1 << 12, 1 << 19
"""Elements of constants and results up to which the interpreter computes them, which is done before a
kernel is compiled: whatever they are, where they are computed one behind the other, and others.
"""
ITERATIONS = 1 << 22
"""The same for the iterations of all equations, terms of reductions counted."""


def constant_values(capture: Capture, results: Sequence[Symbolic]) -> dict[Tensor, Any]:
    """The arrays of results, as texpr stores them, by their tensors. Variables are updated."""
    distinct = list(dict.fromkeys(r.tensor for r in results))
    elements = sum(r.size for r in results) + sum(a.size for a in capture.constants.values())
    if not capture.variables and elements <= MANY and _is_short(capture.program(distinct), elements):
        arrays = interpret(capture.program(distinct), list(capture.constants.values()))
    else:
        arrays = Plan(capture, [next(r for r in results if r.tensor is t) for t in distinct])()
    return dict(zip(distinct, arrays))


def _is_short(program: Program, elements: int) -> bool:
    """True if the interpreter computes a program before a kernel is compiled."""
    if elements <= FEW:
        return True
    flat = flatten(program)
    one_by_one = any(len(group) > 1 for group in in_cycles(flat.equations)) or any(
        isinstance(e, Invoke) or e.target in read_by(e) for e in flat.equations
    )
    return elements <= (ONE_BY_ONE if one_by_one else MANY) and iterations(flat, {}) <= ITERATIONS
