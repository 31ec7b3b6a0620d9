"""Every operator of the library: what is compiled, what the interpreter says and what NumPy says
are the same numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.ops.smooth import CASES, ONCE, as_tuple, first_smooth_cases
from tests.ops.table import Case
from texpr import ops


def assert_close(found: np.ndarray, expected: np.ndarray, slack: float, what: str) -> None:
    """Within 4 * slack units in the last place of the larger of 1 and the largest element; whole
    numbers exactly.
    """
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected.astype(found.dtype), what)
        return
    largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=1)
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=4 * slack * np.finfo(found.dtype).eps * largest, err_msg=what
    )


def check_case(case: Case, dtype: str) -> None:
    operator, arrays = getattr(ops, case.name), case.arrays(dtype)
    compiled = as_tuple(operator(*arrays, **case.constants))
    interpreted = as_tuple(tx.interpret(operator, *arrays, **case.constants))
    expected = case.expected(arrays)
    assert len(compiled) == len(interpreted) == len(expected)
    for c, i, e in zip(compiled, interpreted, expected):
        assert c.dtype == i.dtype
        assert_close(i, e, case.slack, f"{case.name}: interpreted against NumPy")
        assert_close(
            c,
            i.astype(np.float64) if i.dtype.kind == "f" else i,
            case.slack,
            f"{case.name}: compiled against interpreted",
        )


FIRST = {case.name: case for case in reversed(CASES)}
OTHERS = {
    name: [case for case in CASES if case.name == name and case is not first] for name, first in FIRST.items()
}
SMOOTH = first_smooth_cases()
ELSEWHERE = {
    "dropout",
    "next_seed",
    "random_uniform",
    "random_normal",
    "uniform_like",
    "normal_like",
    "bernoulli",
    "dropout_channels",
    "alpha_dropout",
    "rrelu",
}
"""Tested with random numbers."""


def test_every_operator_has_cases():
    assert set(ops.names()) - ELSEWHERE == set(FIRST)
    assert [name for name in FIRST if not OTHERS[name]] == []


@pytest.mark.parametrize("name", FIRST)
def test_values(name):
    for dtype in FIRST[name].dtypes:
        check_case(FIRST[name], dtype)
    for case in OTHERS[name]:
        check_case(case, case.dtypes[0])


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    """Against central differences, the two modes against each other; the gradient as an
    operator, too.
    """
    case = SMOOTH[name]
    tx.check_grad(case.operator, directions=2, **case.inputs, **case.constants)
    if name not in ONCE:
        tx.check_grad(
            tx.grad(case.operator), directions=2, **case.inputs, **case.cotangents, **case.constants
        )
