"""Every operator of the library for several examples at once: the same numbers as one after the
other.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.ops.smooth import as_tuple, first_smooth_cases
from tests.ops.table import Array, Case
from tests.ops.test_values import FIRST, assert_close
from texpr import ops
from texpr.compiler.op import instance
from texpr.ir.printing.tensor import show_program

SMOOTH = first_smooth_cases()
EXAMPLES = 3
Axes = tuple[int | None, ...]


def examples_of(case: Case, axes: Axes) -> list[list[Array]]:
    """Inputs of each example, of which some are the same for all."""
    dtype = case.dtypes[0]
    found = [[make(np.random.default_rng(k), dtype) for make in case.inputs] for k in range(EXAMPLES)]
    return [[a if axis is not None else first for a, axis, first in zip(e, axes, found[0])] for e in found]


def check(case: Case, axes: Axes, out: int, compiled: bool) -> None:
    operator = getattr(ops, case.name)
    examples = examples_of(case, axes)
    one_by_one = [as_tuple(tx.interpret(operator, *e, **case.constants)) for e in examples]
    expected = [np.stack(results, out) for results in zip(*one_by_one)]
    mapped = tx.vmap(operator, axes, out)
    given = [
        column[0] if axis is None else np.stack(column, axis) for column, axis in zip(zip(*examples), axes)
    ]
    for found, wanted in zip(as_tuple(tx.interpret(mapped, *given, **case.constants)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    program, _ = instance(mapped, tuple(given), case.constants)
    text = show_program(program, with_callees=True)
    assert show_program(tx.op(text).program(), with_callees=True) == text
    for found, wanted in zip(as_tuple(mapped(*given, **case.constants)) if compiled else (), expected):
        wide = wanted.astype("f8") if wanted.dtype.kind == "f" else wanted
        assert_close(found, wide, case.slack, f"{case.name}: compiled against interpreted")


@pytest.mark.parametrize("name", [name for name, case in FIRST.items() if case.inputs])
def test_values(name: str):
    check(FIRST[name], (0,) * len(FIRST[name].inputs), 0, compiled=True)


@pytest.mark.parametrize("name", [name for name, case in FIRST.items() if case.inputs])
def test_other_axes(name: str):
    """Along the last dimension; one input for each example, the others for all."""
    count = len(FIRST[name].inputs)
    check(FIRST[name], (-1,) * count, -1, compiled=False)
    for k in range(count if count > 1 else 0):
        check(FIRST[name], tuple(0 if j == k else None for j in range(count)), 0, compiled=False)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str):
    """The gradient of many is many gradients."""
    case = SMOOTH[name]
    gradient, mapped = tx.grad(case.operator), tx.vmap(case.operator)
    random = np.random.default_rng(1)
    given = {n: np.stack([a, a]) for n, a in case.inputs.items()}
    cotangents = {n: random.standard_normal((2, *np.shape(a))) for n, a in case.cotangents.items()}
    every = as_tuple(tx.interpret(tx.grad(mapped), **given, **cotangents, **case.constants))
    each = as_tuple(tx.interpret(tx.vmap(gradient), **given, **cotangents, **case.constants))
    for k in range(2):
        slopes = {n: c[k] for n, c in cotangents.items()}
        alone = as_tuple(tx.interpret(gradient, **case.inputs, **slopes, **case.constants))
        for whole, many, one in zip(every, each, alone, strict=True):
            largest = np.max(np.abs(one[np.isfinite(one)]), initial=1)
            np.testing.assert_array_equal(many[k], one)
            np.testing.assert_allclose(whole[k], one, rtol=0, atol=1e-10 * largest)
