"""Recurrences in captured programs: computed once, on matrices that lie as their products read
them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.graph.fusion.materialize import materialize_shared_values
from texpr.graph.passes import optimize
from texpr.ir.dtypes import F32
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.verifier.program import verify_program
from texpr.passes import specialize
from texpr.poly.program.affine_schedule import _Search

STEP = "{0}[0] = A[0]  {0}[t + 1] = {1}[t] * 2 for t in 0..N  {1}[t] = {0}[t] + {2}[t] for t in 0..N"


def left(first: str, second: str) -> int:
    """How many equations are left of a recurrence and of another one, which an operator adds."""
    head = "op f(A: f32[N + 1], B: f32[N]) -> Y: f32[N]"
    text = f"{head} {{ let P: f32[N + 1] let R: f32[N + 1] {first} {second} Y[t] = P[t + 1] + R[t + 1] }}"
    program = tx.op(text).program()
    program = optimize(specialize(program, {v: 4 for v in program.sizes}), {}, 2)
    return len(program.equations)


def test_a_recurrence_that_is_written_twice_is_computed_once():
    assert left(STEP.format("P", "Q", "B"), STEP.format("R", "S", "B")) == 4


@pytest.mark.parametrize(
    "second",
    [
        STEP.format("R", "S", "B").replace("A[0]", "A[1]"),
        STEP.format("R", "S", "A"),
        STEP.format("R", "S", "B").replace("* 2", "* 3"),
        STEP.format("R", "S", "B").replace("S[t] * 2", "(S[t] + 0 * P[t]) * 2"),
    ],
    ids=("start", "input", "factor", "reads-the-other"),
)
def test_recurrences_that_differ_stay_apart(second: str):
    assert left(STEP.format("P", "Q", "B"), second) == 7


@cache
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
    kernels = [
        launch for launch in plan.launches if any(t.name.endswith(("_h", "_dh")) for t in launch.outputs)
    ]
    assert len([k for k in kernels if "sigmoid" in show_program(k.program)]) == 1
    assert "turned round once, not at every time of the recurrence" in plan.explain()
    assert "lstm_1_g_sum -> " not in plan.explain()


def test_gates_are_computed_once():
    """Forward and backward read them; each is computed in the forward recurrence alone."""
    plan, _ = lstm_plan(3)
    texts = [show_program(launch.program) for launch in plan.launches]
    assert sum(t.count("sigmoid") for t in texts) == 3 and sum(t.count("tanh") for t in texts) == 2
    kept = [str(d) for d in plan.decisions if d.kind == "keep"]
    assert len(kept) == 5
    assert kept[2] == (
        "keep lstm_1_g_sigmoid_ -> lstm_1_c, du_view_dc, du_view_dg: yes, computed once: 11,088 operations "
        "less"
    )


KEPT = {
    "twice elsewhere": ("B[i] = exp(A[i])  C[i] = exp(A[i]) * 2  D[i] = V[i]  E[i] = V[i]", "no"),
    "four times": (
        "B[i] = exp(A[i])  C[i] = exp(A[i]) * 2  D[i] = 1 + exp(A[i])  E[i] = exp(A[i]) - A[i]",
        "yes",
    ),
    "of two tensors": (
        "B[i] = tanh(A[i] + V[i])  C[i] = -tanh(A[i] + V[i])  D[i] = 1 - tanh(A[i] + V[i])  "
        "E[i] = tanh(A[i] + V[i])",
        "yes",
    ),
    "at other places": (
        "B[i] = sum(k in 0..N: tanh(A[k]) * M[i, k])  "
        "C[i] = sum(k in 0..N: tanh(A[k]) * M[k, i])  D[i] = V[i]  E[i] = V[i]",
        "yes",
    ),
    "shifted": (
        "B[i] = exp(A[i])  C[i] = if i > 0 then exp(A[i - 1]) else 0  D[i] = if i > 1 then exp(A[i - 2]) "
        "else 0  "
        "E[i] = if i < N - 1 then exp(A[i + 1]) else 0",
        "yes",
    ),
    "in rare cases": (
        "B[i] = exp(A[i])  C[i] = if i == 3 then exp(A[i]) else 0  D[i] = if i == 1 then exp(A[i]) else 0  "
        "E[i] = if i == 2 then exp(A[i]) else 0",
        "no",
    ),
    "again in one place": (
        "B[i] = exp(A[i]) * exp(A[i])  C[i] = exp(A[i]) + exp(A[i]) * exp(A[i])  D[i] = V[i]  E[i] = V[i]",
        "no",
    ),
    "quick functions": (
        "B[i] = sqrt(A[i])  C[i] = 2 * sqrt(A[i])  D[i] = sqrt(A[i]) + 1  E[i] = sqrt(A[i]) - 1",
        "",
    ),
    "of the place too": (
        "B[i] = exp(A[i] * f32(i))  C[i] = 2 * exp(A[i] * f32(i))  D[i] = exp(A[i] * f32(i)) - 1  E[i] = "
        "V[i]",
        "",
    ),
    "with a guard": (
        "B[i] = exp(A[i | 0.0])  C[i] = 2 * exp(A[i | 0.0])  D[i] = exp(A[i | 0.0]) - 1  E[i] = -exp(A[i | "
        "0.0])",
        "",
    ),
    "at no place": ("B[i] = exp(A[2 * i // 2])  C[i] = 2 * exp(A[2 * i // 2])  D[i] = V[i]  E[i] = V[i]", ""),
}


@pytest.mark.parametrize(("equations", "answer"), KEPT.values(), ids=KEPT.keys())
def test_what_costs_more_to_compute_again_is_stored(equations: str, answer: str):
    text = (
        f"op f(A: f32[N], V: f32[N], M: f32[N, N]) -> (B: f32[N], C: f32[N], D: f32[N], E: f32[N]) {{ "
        f"{equations} }}"
    )
    program = tx.op(text).program()
    program = specialize(program, {v: 17 for v in program.sizes})
    stored, decisions = materialize_shared_values(program)
    assert [str(d).partition(": ")[2].partition(",")[0] for d in decisions] == ([answer] if answer else [])
    assert len(stored.equations) == len(program.equations) + (answer == "yes")
    verify_program(stored)
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.1, 2, shape).astype(np.float32) for shape in ((17,), (17,), (17, 17))]
    for found, wanted in zip(interpret(stored, arrays), interpret(program, arrays), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_every_level_gives_the_same_numbers():
    plan, x = lstm_plan(0)
    expected = plan(x)
    for level in (2, 3):
        for found, wanted in zip(lstm_plan(level)[0](x), expected):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_gradients_of_two_directions_find_an_order(monkeypatch: pytest.MonkeyPatch):
    """Two dozen equations in circles: choices of axes for them were tried for longer than
    anybody waits.
    """
    capture = Capture()
    x, h, c = (capture.input(n, s, F32) for n, s in (("x", (3, 2, 4)), ("h", (2, 2, 5)), ("c", (2, 2, 5))))
    weights = [Variable(np.full(s, 0.1, np.float32), n) for n, s in (("ih", (2, 20, 4)), ("hh", (2, 20, 5)))]
    results = ops.lstm_bidirectional(x, h, c, *map(capture.variable, weights))
    loss = ops.sum_all(results[0])
    gradients = capture.gradients(loss, [capture.variable(w) for w in weights])
    tried, once = [], _Search._shifted
    monkeypatch.setattr(_Search, "_shifted", lambda self, *given: tried.append(0) or once(self, *given))
    with tx.options(cache_dir=None):  # kernels of the disk cache have their order
        plan = Plan(capture, [loss, *gradients])  # type: ignore[list-item]
        values = plan(*(np.full(s, 0.5, np.float32) for s in ((3, 2, 4), (2, 2, 5), (2, 2, 5))))
    assert 0 < len(tried) < 20_000 and all(np.isfinite(v).all() and np.any(v) for v in values)
