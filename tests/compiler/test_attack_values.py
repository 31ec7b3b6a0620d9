"""Values that schedules once got wrong, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx


@pytest.mark.parametrize("size", [32, 33, 40, 64, 100])
def test_argmax_survives_the_default_schedule(size: int) -> None:
    """`split(tail="peel")` leaves out its own condition only, never one of the program."""
    argmax = tx.op("op f(A: f32[N]) -> (most: i64, least: i64) { most = argmax(i: A[i])\n least = argmin(i: A[i]) }")
    values = np.random.default_rng(size).standard_normal(size).astype("f4")
    assert argmax(values) == (np.argmax(values), np.argmin(values))


@pytest.mark.parametrize("tail", ["guard", "peel"])
def test_split_keeps_conditions_of_reductions(tail: str) -> None:
    positive = tx.op("op f(A: i32[N]) -> B: i32 { B = sum(i where A[i] > 0: A[i]) }")
    values = np.arange(-10, 11, dtype="i4")
    kernel = tx.schedule(positive, N=21).split("i", 4, tail=tail).compile()
    assert kernel(values) == 55


def test_a_range_may_use_the_binder_before_it():
    rise = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = max(j in 0..i+1, k in j..i+1: X[k] - X[j]) }")
    values = np.random.default_rng(0).standard_normal(20).astype("f4")
    expected = tx.interpret(rise, values)
    np.testing.assert_array_equal(rise(values), expected)
    np.testing.assert_array_equal(tx.schedule(rise).compile()(values), expected)
