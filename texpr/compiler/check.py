"""Whether a gradient is one."""

from __future__ import annotations

import numpy as np

from texpr import autodiff
from texpr.compiler.op import Op, instance
from texpr.ir.interpret import interpret
from texpr.ir.tensor import Program
from texpr.passes.widen import widened
from texpr.support.errors import CheckError

_STEP = 1e-6


def check_grad(operator: Op, *arrays: object, directions: int = 4, tolerance: float = 1e-6, **options: object) -> float:
    """Compare the gradient with central differences, in f64 whatever the operator's dtypes, along random directions.

    For cotangents u and directions v it compares u.(f(x + hv) - f(x - hv)) / 2h with (J^T u).v.

    Args:
        directions: how many random pairs are tried; the same ones each time.
        tolerance: the largest difference allowed, relative to the larger of the two values and 1.
        options: constants, and inputs by name.
    Returns:
        The largest relative difference found.
    Raises:
        CheckError: a difference is larger, or something has no gradient. Kinks (a maximum with a tie) are no places to ask.
    """
    program, given = instance(operator, arrays, options)
    wide = widened(program)
    backward = autodiff.grad(wide)
    x = [a.astype(np.float64) if t.dtype.is_float else a for a, t in zip(given, wide.inputs)]
    random = np.random.default_rng(0)
    worst = 0.0
    for _ in range(directions):
        v = [random.standard_normal(a.shape) if t.dtype.is_float else None for a, t in zip(x, wide.inputs)]
        worst = max(worst, _difference(wide, backward, x, v, random))
    if not worst <= tolerance:
        raise CheckError(f"the gradient of {program.name} differs from central differences by {worst:.2g}", program.span, code="gradient",
                         help=f"the largest difference allowed is {tolerance:.2g}; is there a kink near these inputs?")
    return worst


def _difference(program: Program, backward: Program, x: list[np.ndarray], v: list[np.ndarray | None], random: np.random.Generator) -> float:
    ahead = interpret(program, [a if d is None else a + _STEP * d for a, d in zip(x, v)])
    behind = interpret(program, [a if d is None else a - _STEP * d for a, d in zip(x, v)])
    floats = [k for k, t in enumerate(program.outputs) if t.dtype.is_float]
    u = [np.asarray(random.standard_normal(ahead[k].shape)) for k in floats]
    measured = sum(float(np.sum(c * (ahead[k] - behind[k]))) for c, k in zip(u, floats)) / (2 * _STEP)
    adjoints = interpret(backward, [*x, *u])
    derived = sum(float(np.sum(g * d)) for g, d in zip(adjoints, (d for d in v if d is not None)))
    return abs(measured - derived) / max(1.0, abs(measured), abs(derived))
