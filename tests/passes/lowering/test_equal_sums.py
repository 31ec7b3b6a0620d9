"""Sums that an equation has several times are added up once, where the equation stands."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.interpreter.tensor import interpret
from texpr.schedule.structure.loops import stores

TEXT = "op f(X: f32[N, K], w: f32[K]) -> Y: f32[N] {{ Y[i] = {} }}"
SUM, OTHER = "sum(k: X[i, k] * w[k])", "sum(j: X[i, j] * w[j])"
ONCE = {
    "a gate": f"{SUM} * min(max({OTHER} / 6 + 0.5, 0), 1)",
    "three times": f"{SUM} + {SUM} * {OTHER}",
    "under a choice": f"if {SUM} > 0 then {OTHER} else 0.1 * {SUM}",
}
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


ARRAYS = "X: f32[4, 9], w: f32[4], v: f32[9]"
STEPS = {
    "drop_padding": ("Y.k", "X[i, k + i - 1 | 0] * v[k]", {"finite": True}),
    "rfactor": ("Y.k", "X[i, k] * v[k]", {"reassoc": True}),
    "tf32": ("Y.k", "X[i, k] * v[k]", {}),
    "exp_to_exp2": ("Y", "exp(X[i, k])", {}),
    "tanh_to_sigmoid": ("Y", "1 + tanh(X[i, k])", {}),
}


def _gate(terms: str) -> tx.Schedule:
    return tx.schedule(
        tx.op(f"op f({ARRAYS}) -> Y: f32[4] {{ Y[i] = sum(k: {terms}) * max(sum(k: {terms}), 0) }}")
    )


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_rewrite_sums_rewrite_all_of_them(name: str):
    loop, terms, options = STEPS[name]
    s = _gate(terms)
    getattr(s, name)(loop, **options)
    assert "every sum has all its terms" in str(s.certificate())
    x = [np.random.rand(*shape).astype("f4") for shape in ((4, 9), (4,), (9,))]
    np.testing.assert_allclose(
        s.compile()(*x), interpret(s.program, x)[0], rtol=1e-2 if name == "tf32" else 1e-4
    )


def test_sums_that_are_rearranged_have_equations_of_their_own():
    """A factor of them does not have all indices."""
    s = _gate("w[i] * X[i, k]").factor_out("Y_sum.k", reassoc=True)
    assert "factor_out" in str(s.certificate())


@pytest.mark.parametrize(("step", "more"), [("factor_out", ()), ("premultiply", (1, 2))])
def test_a_sum_in_several_places_is_not_rearranged(step: str, more: tuple[int, ...]):
    s = _gate("v[k] * X[i, k] * v[k]")
    with pytest.raises(tx.ScheduleError, match="several places") as error:
        getattr(s, step)("Y.k", *more, reassoc=True)
    assert "equation of its own" in str(error.value) and "^^^^" in str(error.value)
    assert _gate("v[k] * X[i, k] * v[k]").auto().certificate()
