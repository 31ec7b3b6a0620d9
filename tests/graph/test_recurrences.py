"""Recurrences in captured programs: computed once, on matrices that lie as their products read them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.graph.passes import optimized
from texpr.ir.dtypes import F32
from texpr.ir.show_tensor import show_program
from texpr.passes import specialize

STEP = "{0}[0] = A[0]  {0}[t + 1] = {1}[t] * 2 for t in 0..N  {1}[t] = {0}[t] + {2}[t] for t in 0..N"


def left(first: str, second: str) -> int:
    """How many equations are left of a recurrence and of another one, which an operator adds."""
    head = "op f(A: f32[N + 1], B: f32[N]) -> Y: f32[N]"
    text = f"{head} {{ let P: f32[N + 1] let R: f32[N + 1] {first} {second} Y[t] = P[t + 1] + R[t + 1] }}"
    program = tx.op(text).program()
    program = optimized(specialize(program, {v: 4 for v in program.sizes}), {}, 2)
    return len(program.equations)


def test_a_recurrence_that_is_written_twice_is_computed_once():
    assert left(STEP.format("P", "Q", "B"), STEP.format("R", "S", "B")) == 4


@pytest.mark.parametrize("second", [
    STEP.format("R", "S", "B").replace("A[0]", "A[1]"),
    STEP.format("R", "S", "A"),
    STEP.format("R", "S", "B").replace("* 2", "* 3"),
    STEP.format("R", "S", "B").replace("S[t] * 2", "(S[t] + 0 * P[t]) * 2"),
], ids=("start", "input", "factor", "reads-the-other"))
def test_recurrences_that_differ_stay_apart(second: str):
    assert left(STEP.format("P", "Q", "B"), second) == 7


def lstm_plan(level: int) -> tuple[Plan, np.ndarray]:
    """Hidden states of an LSTM, and the gradient of their sum of squares in its matrix."""
    rng = np.random.default_rng(0)
    capture = Capture("step")
    x = capture.input("x", (5, 3, 4), F32)
    shapes = {"w": (64, 4), "u": (64, 16), "h": (3, 16), "c": (3, 16)}
    v = {name: Variable(rng.standard_normal(shape, dtype=np.float32), name) for name, shape in shapes.items()}
    with capture:
        y, _, _ = ops.lstm(x, v["h"], v["c"], v["w"], v["u"])
        loss = ops.sum_all(ops.multiply(y, y))
    (gradient,) = capture.gradients(loss, [capture.variable(v["u"])])
    assert gradient is not None
    return Plan(capture, [y, gradient], opt=level), rng.standard_normal((5, 3, 4), dtype=np.float32)


def test_a_training_step_runs_a_recurrence_forward_and_backward():
    plan, _ = lstm_plan(3)
    kernels = [launch for launch in plan.launches if any(t.name.endswith(("_h", "_dh")) for t in launch.outputs)]
    assert len([k for k in kernels if "sigmoid" in show_program(k.program)]) == 1
    assert "turned round once, not at every time of the recurrence" in plan.explain()
    assert "lstm_1_g_sum -> " not in plan.explain()


def test_every_level_gives_the_same_numbers():
    plan, x = lstm_plan(0)
    expected = plan(x)
    for level in (2, 3):
        for found, wanted in zip(lstm_plan(level)[0](x), expected):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
