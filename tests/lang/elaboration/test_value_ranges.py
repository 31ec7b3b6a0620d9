"""What a call promises of its results' values holds for the tensors that take them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.printing.tensor import show_program

ARGSORT = "extern op argsort<T>(X: T[*S, N]) -> p: i64[*S, N] in 0..N distinct\n"
SORTED = (
    ARGSORT + "op sorted<T>(X: T[*S, N]) -> (Y: T[*S, N], p: i64[*S, N]) { Y[*s, i] = X[*s, p[*s, i]]   p = "
    "argsort(X) }\n"
)


@pytest.fixture(autouse=True)
def registered():
    tx.register_extern("argsort", lambda X: np.argsort(X, axis=-1, kind="stable"))


def test_an_output_takes_the_range_of_its_call_wherever_the_call_stands():
    X = np.array([[3, 1, 2], [5, 4, 6]], "f4")
    Y, p = tx.interpret(tx.op(SORTED), X)
    np.testing.assert_array_equal(Y, np.sort(X, axis=1))
    np.testing.assert_array_equal(p, np.argsort(X, axis=1))
    assert "p: i64[*S, N] in 0..N distinct" in show_program(tx.op(SORTED).program())


def test_a_let_takes_it_and_hands_it_on():
    op = tx.op(
        SORTED
        + """
    op inverse(p: i64[N] in 0..N distinct) -> q: i64[N] { q[p[i]] = i }
    op ranks(X: f32[N]) -> (r: i64[N], largest: f32) require N >= 1 {
      largest = Y[N - 1]
      r = inverse(order)
      let order: i64[N]
      Y, order = sorted(X)
    }"""
    )
    r, largest = tx.interpret(op, np.array([3, 1, 2], "f4"))
    np.testing.assert_array_equal(r, [2, 0, 1])
    assert largest == 3


def test_a_declared_range_is_kept_and_proven():
    kept = ARGSORT + "op f(X: f32[N]) -> p: i64[N] in 0..N + 1 { p = argsort(X) }"
    assert "p: i64[N] in 0..N + 1 {" in show_program(tx.op(kept).program())
    with pytest.raises(tx.CheckError) as e:
        tx.op(kept.replace("0..N + 1", "1..N"))
    assert (
        str(e.value)
        == """error[range]: p in 1..N is not proven
  --> <op>:2:40
  2 | op f(X: f32[N]) -> p: i64[N] in 1..N { p = argsort(X) }
    |                                        ^^^^^^^^^^^^^^ argsort gives values in 0..N
    at N=1
  help: declare what the call gives: p: i64[N] in 0..N"""
    )


def test_two_calls_that_need_each_other_are_a_cycle():
    with pytest.raises(tx.CheckError, match="A needs itself through a call"):
        tx.op(
            "op g(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\nop f(Z: f32[N]) -> (A: f32[N], B: f32[N]) { A = "
            "g(B)   B = g(A) }"
        )
