"""Operators that are declared and not written."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

ARGSORT = "extern op argsort<T>(X: T[*S, N]; down = false) -> p: i64[*S, N] in 0..N distinct\n"
SORTED = tx.op(ARGSORT + "op ordered(X: f32[*S, N]) -> Y: f32[*S, N] { p = argsort(X)  Y[*s, i] = X[*s, p[*s, i]] }")
X = np.random.default_rng(0).random((2, 3, 5), np.float32)


def test_the_interpreter_runs_it():
    tx.register_extern("argsort", lambda x, down: np.argsort(-x if down else x, axis=-1))
    np.testing.assert_array_equal(tx.interpret(SORTED, X), np.sort(X))
    np.testing.assert_array_equal(tx.interpret(tx.op(ARGSORT), X, down=True), np.argsort(-X))


def test_it_is_not_compiled():
    with pytest.raises(tx.CompileError) as caught:
        SORTED(X)
    assert str(caught.value) == """error[extern]: `argsort` is extern: only the interpreter runs it
  --> <op>:2:46
  2 | op ordered(X: f32[*S, N]) -> Y: f32[*S, N] { p = argsort(X)  Y[*s, i] = X[*s, p[*s, i]] }
    |                                              ^^^^^^^^^^^^^^
  help: texpr.interpret runs it; or compute argsort outside and pass its result as an input"""
    with pytest.raises(tx.CompileError, match="`argsort` is extern"):
        tx.op(ARGSORT)(X)


def test_what_is_wrong_with_functions():
    other = tx.op("extern op missing(X: f32[N]) -> Y: f32[N]")
    with pytest.raises(tx.CallError) as caught:
        tx.interpret(other, X[0, 0])
    assert str(caught.value) == """error[extern]: `missing` is extern and nothing computes it
  help: texpr.register_extern('missing', function)"""
    wrong = {"gives float32[4] for `Y`, expected float32[5]": lambda x: x[1:], "gives 2 results, expected 1": lambda x: (x, x)}
    for text, function in wrong.items():
        tx.register_extern("wrong", function)
        with pytest.raises(tx.CallError, match="the function of `wrong` ") as caught:
            tx.interpret(tx.op("extern op wrong(X: f32[N]) -> Y: f32[N]"), X[0, 0])
        assert text in str(caught.value)


def test_its_gradient_has_to_be_given():
    with pytest.raises(tx.CheckError, match="is extern: its gradient has to be given"):
        tx.grad(tx.op("extern op fft(X: f32[N]) -> Y: f32[N]\nop f(X: f32[N]) -> Y: f32[N] { Y = fft(X) }"))
