"""Sums that an equation has several times are added up once, where the equation stands."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.interpreter.tensor import interpret
from texpr.schedule.structure.loops import stores

TEXT = "op f(X: f32[N, K], w: f32[K]) -> Y: f32[N] {{ Y[i] = {} }}"
SUM, OTHER = "sum(k: X[i, k] * w[k])", "sum(j: X[i, j] * w[j])"
ONCE = {"a gate": f"{SUM} * min(max({OTHER} / 6 + 0.5, 0), 1)", "three times": f"{SUM} + {SUM} * {OTHER}"}
APART = {
    "another term": f"{SUM} * sum(k: X[i, k] * X[i, k])",
    "another operation": f"{SUM} * max(k: X[i, k] * w[k])",
    "a shorter range": f"{SUM} * sum(k in 0..K - 1: X[i, k] * w[k])",
}


def _sums(text: str) -> tuple[tx.Schedule, int]:
    """The naive schedule, and its statements that add terms."""
    s = tx.schedule(tx.op(TEXT.format(text).replace(" {", " require K >= 1 {", 1)), N=20, K=33)
    return s, sum(store.update is not None for store in stores(s.kernel))


@pytest.mark.parametrize("name", ONCE)
def test_one_accumulator(name: str):
    s, sums = _sums(ONCE[name])
    assert sums == 1 and len(s.kernel.temporaries) == 1
    x, w = np.random.rand(20, 33).astype("f4") - 0.5, np.random.rand(33).astype("f4")
    s = s.auto()
    assert "every sum has all its terms" in str(s.certificate())
    np.testing.assert_allclose(s.compile()(x, w), interpret(s.program, [x, w])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", APART)
def test_different_sums_have_their_own(name: str):
    s, sums = _sums(APART[name])
    assert sums == 2
    assert "every sum has all its terms" in str(s.auto().certificate())
