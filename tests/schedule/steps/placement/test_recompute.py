"""Tiles that overlap may run at once where an element tells which instance of its equation
writes it: both tiles write one value.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

N = 11
LEGAL = {
    "a multiple": ("op g(X: f32[N]) -> Y: f32[2*N] { Y[2*i] = X[i]  Y[2*i+1] = 0 for i in 0..N }", "Y.0.i"),
    "from the end": ("op g(X: f32[N]) -> Y: f32[N] { Y[N - 1 - i] = X[i] }", "i"),
    "distinct places": ("op g(X: f32[N], p: i32[N] in 0..N distinct) -> Y: f32[N] { Y[p[i]] = X[i] }", "i"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_accepted_and_certified(name: str):
    text, loop = LEGAL[name]
    op = tx.op(text)
    s = tx.schedule(op).split(loop, 4, tail="overlap").parallel(f"{loop}o")
    assert s.certificate().bit_exact
    given = [np.arange(N, dtype="f4"), np.random.default_rng(0).permutation(N).astype("i4")][
        : len(op.signature.inputs)
    ]
    np.testing.assert_array_equal(s.compile()(*given), tx.interpret(op, *given))


def test_an_element_that_is_changed_again_is_not_written_at_once():
    s = tx.schedule(tx.op("op g(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]  Y[i] += X[i] }"))
    with pytest.raises(tx.ScheduleError):
        s.split("Y.1.i", 4, tail="overlap").parallel("Y.1.io")
