"""Gradients against central differences in f64, with the interpreter as the meaning of both
sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from texpr.autodiff import grad, jvp, vjp
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_program

STEP, TOLERANCE = 1e-5, 1e-6


def check_gradient(program: Program, *arrays: np.ndarray, wrt: Sequence[str] | None = None) -> Program:
    """Compares every derivative with central differences; returns the gradient."""
    arrays = tuple(np.asarray(a) for a in arrays)
    cotangents = random_cotangents(program, arrays)
    gradient = grad(program, wrt)
    verify_program(gradient)
    found = interpret(gradient, [*arrays, *cotangents])
    chosen = [t.name for t in program.inputs if t.dtype.is_float] if wrt is None else list(wrt)
    positions = {t.name: n for n, t in enumerate(program.inputs)}
    for name, value in zip(chosen, found, strict=True):
        expected = _central_difference(program, arrays, positions[name], cotangents)
        np.testing.assert_allclose(value, expected, rtol=TOLERANCE, atol=TOLERANCE, err_msg=f"d{name}")
    check_vjp(program, arrays, cotangents, found, wrt)
    check_jvp(program, arrays, cotangents, found, wrt)
    return gradient


def random_cotangents(program: Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    outputs = interpret(program, arrays)
    return [random.normal(size=o.shape) for o, t in zip(outputs, program.outputs) if t.dtype.is_float]


def _weighted(program: Program, arrays: Sequence[np.ndarray], cotangents: Sequence[np.ndarray]) -> float:
    floats = [o for o, t in zip(interpret(program, arrays), program.outputs) if t.dtype.is_float]
    return float(sum((o * c).sum() for o, c in zip(floats, cotangents)))


def _central_difference(
    program: Program, arrays: Sequence[np.ndarray], position: int, cotangents: Sequence[np.ndarray]
) -> np.ndarray:
    result = np.zeros(arrays[position].shape)
    for element in np.ndindex(result.shape):
        sides = []
        for step in (STEP, -STEP):
            moved = arrays[position].copy()
            moved[element] += step
            sides.append(_weighted(program, [*arrays[:position], moved, *arrays[position + 1 :]], cotangents))
        result[element] = (sides[0] - sides[1]) / (2 * STEP)
    return result


def check_vjp(
    program: Program,
    arrays: Sequence[np.ndarray],
    cotangents: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    wrt: Sequence[str] | None = None,
    checkpoint: Sequence[str] | None = None,
) -> None:
    """The two halves give the same numbers as the gradient."""
    forward, backward = vjp(program, wrt, checkpoint=checkpoint)
    verify_program(forward)
    verify_program(backward)
    known = dict(zip((t.name for t in program.inputs), arrays))
    known |= dict(zip((t.name for t in forward.outputs), interpret(forward, arrays)))
    seeds = backward.inputs[len(backward.inputs) - len(cotangents) :]
    known |= dict(zip((t.name for t in seeds), cotangents))
    found = interpret(backward, [known[t.name] for t in backward.inputs])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def check_jvp(
    program: Program,
    arrays: Sequence[np.ndarray],
    cotangents: Sequence[np.ndarray],
    gradient: Sequence[np.ndarray],
    wrt: Sequence[str] | None,
) -> None:
    """Both modes agree: u . (J v) == (J^T u) . v."""
    forward_mode = jvp(program, wrt)
    verify_program(forward_mode)
    random = np.random.default_rng(2)
    tangents = [random.normal(size=g.shape) for g in gradient]
    results = interpret(forward_mode, [*arrays, *tangents])
    for a, b in zip(results, interpret(program, arrays)):
        np.testing.assert_array_equal(a, b)
    changes = results[len(program.outputs) :]
    left = sum(float((u * c).sum()) for u, c in zip(cotangents, changes, strict=True))
    right = sum(float((g * v).sum()) for g, v in zip(gradient, tangents, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)
