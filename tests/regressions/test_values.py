"""Values that schedules once got wrong, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx


@pytest.mark.parametrize("size", [32, 33, 40, 64, 100])
def test_argmax_survives_the_default_schedule(size: int) -> None:
    """`split(tail="peel")` leaves out its own condition only, never one of the program."""
    argmax = tx.op(
        "op f(A: f32[N]) -> (most: i64, least: i64) { most = argmax(i: A[i])\n least = argmin(i: A[i]) }"
    )
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


def test_elements_declared_distinct_are_checked():
    permute = tx.op("op f(X: f32[N], d: i32[N] in 0..N distinct) -> Y: f32[N] { Y[d[i]] = X[i] }")
    values, again = np.arange(4, dtype="f4"), np.array([0, 1, 1, 2], "i4")
    assert permute(values, np.array([3, 1, 0, 2], "i4")).tolist() == [2, 1, 3, 0]
    for call in (permute, tx.schedule(permute).compile(), lambda *a: tx.interpret(permute, *a)):
        with pytest.raises(tx.CallError, match="are both 1, expected distinct values"):
            call(values, again)


def test_interpret_checks_what_calls_check():
    pick = tx.op("op f(X: f32[N], k: i32[M] in 0..N) -> Y: f32[M] { Y[i] = X[k[i]] }")
    with pytest.raises(tx.CallError, match="expected a value in 0..3"):
        tx.interpret(pick, np.ones(3, "f4"), np.array([1, 3], "i4"))
    with pytest.raises(tx.CallError, match="requires N >= 1"):
        tx.interpret(tx.op("op f(X: f32[N]) -> Y: f32 { Y = max(i: X[i]) }"), np.ones(0, "f4"))


def test_calls_of_other_shapes_after_one_was_served():
    """The kernel that was made last is asked first; what does not fit it goes the long way."""
    add = tx.op("op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }")
    for n in (3, 5, 3, 8, 5):
        a = np.arange(2 * n, dtype=np.float32)
        np.testing.assert_array_equal(add(a[:n], a[n:]), a[:n] + a[n:])
        np.testing.assert_array_equal(add(a[::2], a[1::2]), a[::2] + a[1::2])
        out = np.empty(n, np.float32)
        assert add(a[:n], a[n:], out=out) is out and (out == a[:n] + a[n:]).all()
        with pytest.raises(tx.CallError):
            add(a, a[:n])


def test_an_optional_input_is_no_output():
    shift = tx.op("op shift(A: f32[N], b: f32[N] = 0) -> C: f32[N] { C[i] = A[i] + b[i] }")
    a = np.ones(4, np.float32)
    np.testing.assert_array_equal(shift(a), a)
    b = np.full(4, 2, np.float32)
    np.testing.assert_array_equal(shift(a, b), a + 2)
    np.testing.assert_array_equal(b, 2)
