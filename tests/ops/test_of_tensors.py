"""Every operator of the library on tensors: its kernels in a plan of several are the same
numbers as the operator and its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import texpr as tx
from tests.ops.smooth import Smooth, as_tuple, first_smooth_cases
from tests.ops.table import Array
from texpr import ops

FIRST = first_smooth_cases()


def slopes(case: Smooth, inputs: Sequence[tx.Tensor]) -> list[Array]:
    """The gradients of the outputs, weighted by the case's cotangents, in the float inputs."""
    outputs = getattr(ops, case.name)(*inputs, **case.constants)
    floats = [y for y in (outputs if isinstance(outputs, tuple) else (outputs,)) if y.dtype.is_float]
    sum((y * c).sum() for y, c in zip(floats, case.cotangents.values(), strict=True)).backward()
    return [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in inputs if x.dtype.is_float]


def check(case: Smooth) -> None:
    expected = as_tuple(tx.grad(case.operator)(**case.inputs, **case.cotangents, **case.constants))
    inputs = [tx.tensor(x, requires_grad=x.dtype.kind == "f") for x in case.inputs.values()]
    for found, wanted in zip(slopes(case, inputs), expected, strict=True):
        largest = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * largest)


@pytest.mark.parametrize("name", FIRST)
def test_gradients(name: str):
    check(FIRST[name])


PARTS = {
    "a triangle": ("e[i, j] = exp(X[i, j]) for j in 0..i + M - N + 1", "sum(j in 0..i + M - N + 1: e[i, j])"),
    "rows": (
        "e[i, j] = exp(X[i, j]) for i in 1..N",
        "if i == 0 then X[0, 0] else sum(j: e[i, j]) + sum(j: e[i, j] ** 2)",
    ),
    "every second": (
        "e[2 * i, j] = exp(X[2 * i, j]) for i in 0..N // 2",
        "if i % 2 == 0 and i < N // 2 * 2 then sum(j: e[i, j]) else 0",
    ),
    "two pieces": (
        "e[i, j] = exp(X[i, j]) for j in 0..1  e[i, j] = X[i, j] for j in 2..3",
        "e[i, 0] * e[i, 2]",
    ),
    "a fold": (
        "e[i, j] = X[i, j] for j in 0..2  e[i, 1] += sum(j: sin(X[i, j]))",
        "e[i, 0] / e[i, 1] + sum(j in 0..2: e[i, j])",
    ),
}
TEXT = """
op f(X: f64[N, M]) -> Y: f64[N] require M >= 4 and N <= M and N >= 1 {{
  let e: f64[N, M]
  {}
  Y[i] = {}
}}"""


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_an_intermediate(part: str, opt: int):
    """A kernel hands another one a tensor of which some elements have no definition."""
    of = tx.op(TEXT.format(*PARTS[part]))
    array = np.random.default_rng(1).normal(size=(4, 5))
    x = tx.tensor(array, requires_grad=True)
    weights = np.arange(1.0, 5)
    with tx.options(opt=opt):
        y = of(x)
        (y * weights).sum().backward()
        np.testing.assert_allclose(y.numpy(), tx.interpret(of, array), rtol=1e-13)
        np.testing.assert_allclose(
            x.grad.numpy(), tx.interpret(tx.grad(of), array, weights), rtol=1e-12, atol=1e-13
        )
