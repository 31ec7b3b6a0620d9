"""Every operator of the library, captured: passes and fusion keep its values, and those of its gradient, in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.test_values import FIRST, SMOOTH
from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.graph.fusion import fused
from texpr.graph.groups import as_program, grouped
from texpr.graph.passes import by_laws, optimized
from texpr.graph.passes.flatten import shape_of
from texpr.ir.dtypes import from_numpy
from texpr.ir.expr import Tensor
from texpr.ir.interpret import interpret
from texpr.ir.tensor import Program
from texpr.ir.verify import verify_program


def by_groups(program: Program, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results, each group interpreted for itself; views are looked at as memory."""
    values: dict[Tensor, np.ndarray] = dict(zip(program.inputs, arrays))
    groups, _ = grouped(program, join=True)
    needed = {*program.outputs, *(t for g in groups for t in g.sources)}
    for group in groups:
        if group.view_of is not None:
            (target,) = group.targets
            values[target] = values[group.view_of].reshape(shape_of(target))
            continue
        callee, inputs, outputs = as_program(group, needed)
        values |= dict(zip(outputs, interpret(callee, [values[t] for t in inputs])))
    return [values[t] for t in program.outputs]


def check(capture: Capture, results: list[Symbolic], arrays: list[np.ndarray]) -> None:
    program = capture.program([r.tensor for r in map(capture.own_result, results)])
    given = [*arrays, *capture.constants.values()]
    expected = interpret(program, given)
    constants = dict(zip(program.inputs[len(arrays) :], capture.constants.values()))
    plain_one = optimized(program, constants, 2)
    better, _ = fused(plain_one)
    better = by_laws(better, False)
    for each in (plain_one, better):
        verify_program(each)
    for found in (interpret(better, given), by_groups(better, given)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def captured(name: str, arrays: list[np.ndarray], constants: dict[str, object]) -> tuple[Capture, list[Symbolic], list[Symbolic]]:
    capture = Capture(name)
    inputs = [capture.input(f"x{k}", a.shape, from_numpy(a.dtype)) for k, a in enumerate(arrays)]  # type: ignore[arg-type]
    with capture:
        found = getattr(ops, name)(*inputs, **constants)
    return capture, inputs, list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", sorted(set(FIRST) - {"arange", "arange_int", "eye", "full", "linspace"}))
def test_operators_keep_their_values(name: str):
    case = FIRST[name]
    arrays = case.arrays(case.dtypes[0])
    capture, _, results = captured(name, arrays, dict(case.constants))
    check(capture, results, arrays)


@pytest.mark.parametrize("name", sorted(set(SMOOTH) & set(FIRST))[::4])
def test_gradients_keep_their_values(name: str):
    case = FIRST[name]
    arrays = case.arrays("f8")
    capture, inputs, results = captured(name, arrays, dict(case.constants))
    loss = ops.sum_all(next(r for r in results if r.dtype.is_float))
    floats = [x for x in inputs if x.dtype.is_float]
    check(capture, [loss, *(g for g in capture.gradients(loss, floats) if g is not None)], arrays)  # type: ignore[arg-type]
