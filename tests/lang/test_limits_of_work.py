"""Long texts take time in proportion to their length, and what no machine can do is refused when
it is written.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.ir.traverse import walk


def test_calls_that_stand_for_too_many_equations():
    calls = "\n".join(
        f"op g{k + 1}(X: f32[N]) -> Y: f32[N] {{ A = g{k}(X)  B = g{k}(A)  Y[i] = B[i] }}" for k in range(36)
    )
    with pytest.raises(tx.ResourceError) as e:
        tx.op("op g0(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }\n" + calls)
    assert (
        str(e.value).splitlines()[0]
        == "error[quota]: `g14` has more than 20,000 equations with those of what it calls"
    )


def test_a_few_doubling_calls():
    calls = "\n".join(f"op g{k + 1}(X: f32[N]) -> Y: f32[N] {{ A = g{k}(X)  Y = g{k}(A) }}" for k in range(4))
    f = tx.op("op g0(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }\n" + calls)
    assert f(np.zeros(2, "f4")).tolist() == [16, 16]


def test_long_chains_of_comparisons():
    with pytest.raises(tx.ResourceError, match="a chain of 201 comparisons"):
        tx.op("op f(X: f32[N]) -> Y: bool[N] { Y[i] = " + " < ".join(["X[i]"] * 201) + " }")


def test_what_no_output_needs_is_not_computed():
    text = "op f(X: f32[N]) -> Y: f32[N] { " + " ".join(
        f"T{k}[i] = X[i] * {k}  U{k}[i] = exp(T{k}[i])" for k in range(300)
    )
    f = tx.op(text + " A[i] = 2 * X[i]  Y[i] = A[i] + 1 }")
    s = tx.schedule(f)
    assert {t.name for t in s.kernel.temporaries} == {"A"}
    assert f(np.ones(3, "f4")).tolist() == [3, 3, 3]


def test_what_outside_code_reads_is_computed():
    tx.register_extern("doubled_outside", lambda x: 2 * x)
    text = """extern op doubled_outside(X: f32[N]) -> Y: f32[N]
op f(X: f32[N]) -> Y: f32[N] { A[i] = X[i] + 1  B = doubled_outside(A)  Y[i] = X[i] }"""
    s = tx.schedule(tx.op(text))
    assert {t.name for t in s.kernel.temporaries} == {"A", "B"}


@pytest.mark.parametrize(
    "body", ["sin(T{0}[i]) + T{0}[i] * 0.5", "T{0}[i] * T{0}[i] - T{0}[i]", "T{0}[i] + 1"]
)
def test_long_chains_are_no_single_expression(body):
    equations = " ".join(f"T{k + 1}[i] = {body.format(k)}" for k in range(40))
    f = tx.op(f"op f(A: f32[N]) -> C: f32[N] {{ T0[i] = A[i]  {equations}  C[i] = T40[i] }}")
    loops = tx.schedule(f, N=5).auto().kernel
    assert (
        max(operations(s.value) for s in walk(loops) if type(s).__name__ == "Store")
        < 3 * COSTS.longest_inlined
    )
    x = np.linspace(0, 0.5, 5, dtype="f4")
    np.testing.assert_allclose(f(x), tx.interpret(f, x), rtol=1e-4, atol=1e-5)


def test_sums_of_many_terms():
    f = tx.op("op f(X: f64[N]) -> Y: f64[N] { Y[i] = " + " + ".join(f"X[i] * {k}" for k in range(500)) + " }")
    assert f(np.ones(1)).tolist() == [499 * 250]


def test_splits_of_a_split():
    f = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2 }")
    s, name = tx.schedule(f), "i"
    for _ in range(60):
        s.split(name, 2)
        name += "o"
    assert str(s).count("  for ") == 61
