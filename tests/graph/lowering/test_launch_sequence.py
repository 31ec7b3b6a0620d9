"""Launches: results that are the memory of others in another shape."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.ir.dtypes import F32


@pytest.mark.parametrize("shape", [(2, 6, 9), (1, 6, 1)])
def test_a_reshaped_product_is_written_by_its_kernel(shape: tuple[int, ...]):
    """Groups of channels are two dimensions inside of the kernel, one outside."""
    x, w = np.random.rand(*shape).astype("f4"), np.random.rand(4, 3, 1).astype("f4")
    function = tx.jit(lambda x, w: ops.conv1d(x, w, G=2))
    expected = np.einsum("ngcx,gkc->ngkx", x.reshape(shape[0], 2, 3, -1), w.reshape(2, 2, 3))
    np.testing.assert_allclose(function(x, w).numpy(), expected.reshape(shape[0], 4, -1), rtol=1e-5)
    with tx.profile() as profile:
        function(x, w)
    assert len(profile.rows) == 1


def _plan(results: str) -> Plan:
    """Sums of rows `s`, `r` which is `s` as a matrix, and what is computed of them."""
    capture = Capture()
    x = capture.input("x", (6, 4), F32)
    s = x.sum(1)
    values = {"s": s, "r": s.reshape(2, 3), "t": s.reshape(3, 2), "d": s.reshape(2, 3).sum(0)}
    return Plan(capture, [values[name] for name in results])


@pytest.mark.parametrize(("results", "launches"), [("r", 1), ("rd", 2), ("dr", 2), ("rs", 2), ("rt", 2)])
def test_views_as_results(results: str, launches: int):
    """Results have memory of their own, so that a second one of the same values is a copy."""
    x = np.random.rand(6, 4).astype("f4")
    plan, s = _plan(results), x.sum(1)
    expected = {"s": s, "r": s.reshape(2, 3), "t": s.reshape(3, 2), "d": s.reshape(2, 3).sum(0)}
    found = plan(x)
    for name, each in zip(results, found, strict=True):
        np.testing.assert_allclose(each, expected[name], rtol=1e-5)
    assert not any(np.shares_memory(a, b) for a in found for b in found if a is not b)
    assert len(plan.launches) == launches


def test_a_variable_becomes_a_view():
    capture = Capture()
    variable = Variable(np.zeros((2, 3), "f4"))
    x = capture.input("x", (6, 4), F32)
    s = x.sum(1)
    capture.assign(variable, s.reshape(2, 3))
    plan, data = Plan(capture, [s * 2]), np.random.rand(6, 4).astype("f4")
    (doubled,) = plan(data)
    np.testing.assert_allclose(variable.numpy(), data.sum(1).reshape(2, 3), rtol=1e-5)
    np.testing.assert_allclose(doubled, 2 * data.sum(1), rtol=1e-5)
