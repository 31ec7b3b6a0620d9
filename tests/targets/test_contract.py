"""`contract`: which of two products is joined with their sum does not depend on the loops around."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import texpr as tx
from texpr.runtime import host

RANDOM = np.random.default_rng(5)
pytestmark = pytest.mark.skipif(platform.machine() == "x86_64" and "fma" not in host.cpu_features(), reason="nothing is joined here")


def rounded_once(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, sign: float) -> np.ndarray:
    """a*b + sign*c*d in f32, the second product not rounded: exact in f64, whose 53 bits hold it."""
    first = (a * b).astype(np.float64)
    return (first + sign * c.astype(np.float64) * d.astype(np.float64)).astype(np.float32)


@pytest.mark.parametrize(("value", "sign"), [("A[i]*B[i] + C[i]*D[i]", 1), ("A[i]*B[i] - C[i]*D[i]", -1), ("A[i]*B[i] + -(C[i]*D[i])", -1)])
@pytest.mark.parametrize("steps", ["", 'split("Y.i", 8)\nvectorize("Y.ii")', 'split("Y.i", 3, tail="peel")\nunroll("Y.ii")'],
                         ids=["scalar", "vector", "unrolled"])
def test_the_second_of_two_products_is_not_rounded(value: str, sign: float, steps: str):
    op = tx.op(f"op f(A: f32[N], B: f32[N], C: f32[N], D: f32[N]) -> (Y: f32[N], Z: f32[N]) {{ Y[i] = {value}\nZ[i] = A[i]*B[i] }}")
    schedule = tx.schedule(op).replay("contract()\n" + steps)
    arrays = [RANDOM.normal(size=100).astype(np.float32) for _ in range(4)]
    found, product = schedule.compile()(*arrays)
    assert np.array_equal(found, rounded_once(*arrays, sign))
    assert np.array_equal(product, arrays[0] * arrays[1])
