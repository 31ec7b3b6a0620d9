"""The equations behind loops."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.passes import lower
from texpr.schedule.script.script import Step
from texpr.schedule.structure.equations import equations_of


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f32[N, M]) -> y: i64[N] { y[i] = argmax(j: X[i, j]) }",
        "fn g(x) = x * 2\nop f(X: f32[N]) -> y: f32[N] { y[i] = g(X[i]) }",
        "op f(X: f32[N]) -> y: f32[N] { y[i] = X[i] / sum(j: X[j]) }",
    ],
    ids=["argmax", "call", "nested"],
)
def test_of_loops_that_were_changed(text: str):
    """Of programs with an argmax or with calls too, which loops are not made of as they stand."""
    kernel = lower(tx.op(text).program())
    assert equations_of(kernel, "reciprocal").equations
    with pytest.raises(
        tx.ScheduleError, match="reciprocal rewrites the equations, before their loops are changed"
    ):
        equations_of(Step("split", ("y.i", 4)).apply(kernel), "reciprocal")


def test_of_loops_that_a_step_left():
    s = tx.schedule(
        tx.op(
            "op f(X: f32[N, M]) -> Y: f32[N, M] { s[i] = sum(j: X[i, j])  Y[i, j] = X[i, j] / max(s[i], 1) }"
        )
    ).reciprocal("Y")
    program = s.kernel.program
    assert program is not None
    assert len(equations_of(s.kernel, "reciprocal").equations) == len(program.equations)
