"""The check of a gradient, against central differences and forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from texpr import autodiff
from texpr.compiler.op import Op, instance
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Invoke, Program
from texpr.passes.tensor.promote_to_f64 import widened
from texpr.support.errors import CheckError
from texpr.support.tracebacks import boundary

_STEP = 1e-6
MODES = 1e-10
"""Largest difference of u . (J v) and (J^T u) . v: both are the same sum in another
order.
"""
Arrays = list[np.ndarray]


class Errors(NamedTuple):
    """Relative differences: of the gradient from central differences, of the two modes from each
    other (0 where one is given by hand).
    """

    differences: float
    modes: float


@boundary
def check_grad(
    operator: Op, *arrays: object, directions: int = 4, tolerance: float = 1e-6, **options: object
) -> float:
    """Compare the gradient with central differences and with forward mode, in f64 whatever the
    operator's dtypes, along random directions.

    For cotangents u and directions v it compares u.(f(x + hv) - f(x - hv)) / 2h with (J^T u).v, and
    that with u.(J v).

    Args:
        directions: how many random pairs are tried; the same ones each time.
        tolerance: the largest difference allowed, relative to the larger of the two values and 1.
            The modes may differ by 1e-10.
        options: constants, and inputs by name.
    Returns:
        The largest relative difference from central differences.
    Raises:
        CallError: arguments that do not fit.
        CheckError: a difference is larger, or something has no gradient. Kinks (a maximum with a
            tie) are no places to ask.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> tx.check_grad(dot, np.float64([1, 2]), np.float64([3, 4])) < 1e-6
        True
    """
    worst = gradient_errors(operator, *arrays, directions=directions, **options)
    if not worst.differences <= tolerance:
        raise CheckError(
            f"the gradient of {operator.__name__} differs from central differences by "
            f"{worst.differences:.2g}",
            code="gradient",
            help=f"the largest difference allowed is {tolerance:.2g}; is there a kink near these inputs?",
        )
    if not worst.modes <= MODES:
        raise CheckError(
            f"forward and reverse mode of {operator.__name__} differ by {worst.modes:.2g}",
            code="gradient",
            help=f"the largest difference allowed is {MODES:.0e}",
        )
    return worst.differences


def gradient_errors(operator: Op, *arrays: object, directions: int = 4, **options: object) -> Errors:
    """The errors that `check_grad` compares with its bars."""
    program, given = instance(operator, arrays, options)
    wide = widened(program)
    backward, forward = autodiff.grad(wide), None if _has_registered_gradient(wide) else autodiff.jvp(wide)
    x = [a.astype(np.float64) if t.dtype.is_float else a for a, t in zip(given, wide.inputs)]
    random = np.random.default_rng(0)
    worst = Errors(0.0, 0.0)
    for _ in range(directions):
        v = [np.asarray(random.standard_normal(a.shape)) for a, t in zip(x, wide.inputs) if t.dtype.is_float]
        u, differences = _central_differences(wide, x, v, random)
        by_reverse_mode = _dot(interpret(backward, [*x, *u]), v)
        by_forward_mode = (
            by_reverse_mode if forward is None else _dot(interpret(forward, [*x, *v])[len(wide.outputs) :], u)
        )
        found = Errors(
            _relative_difference(differences, by_reverse_mode),
            _relative_difference(by_forward_mode, by_reverse_mode),
        )
        worst = Errors(*(float(np.maximum(a, b)) for a, b in zip(worst, found)))  # NaN stays
    return worst


def _has_registered_gradient(program: Program) -> bool:
    """True if a program, or what it calls, is extern: then a gradient has been registered, and
    forward mode has nothing to differentiate.
    """
    return not program.equations or any(
        isinstance(e, Invoke) and _has_registered_gradient(e.program) for e in program.equations
    )


def _central_differences(
    program: Program, x: Arrays, v: Arrays, random: np.random.Generator
) -> tuple[Arrays, float]:
    """Random cotangents u of the float outputs, and u . (f(x + hv) - f(x - hv)) / 2h."""
    sides = [interpret(program, _perturbed(program, x, v, step)) for step in (_STEP, -_STEP)]
    above, below = ([y for y, t in zip(side, program.outputs) if t.dtype.is_float] for side in sides)
    u = [np.asarray(random.standard_normal(y.shape)) for y in above]
    with np.errstate(invalid="ignore"):  # what is infinite on both sides does not change
        changes = [np.where(a == b, 0.0, a - b) for a, b in zip(above, below)]
    return u, _dot(u, changes) / (2 * _STEP)


def _perturbed(program: Program, x: Arrays, v: Arrays, step: float) -> Arrays:
    directions = iter(v)
    return [a + step * next(directions) if t.dtype.is_float else a for a, t in zip(x, program.inputs)]


def _dot(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> float:
    return sum(float(np.sum(a * b)) for a, b in zip(left, right, strict=True))


def _relative_difference(a: float, b: float) -> float:
    return abs(a - b) / max(1.0, abs(a), abs(b))
