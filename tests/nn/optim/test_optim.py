"""Trajectories of optimizers against their formulas in NumPy, and their complaints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops

Rule = Callable[[np.ndarray, np.ndarray, int, dict], np.ndarray]
TARGET = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]])


def sgd(lr=0.1, momentum=0.0, dampening=0.0, decay=0.0, nesterov=False) -> Rule:
    def rule(p, g, t, state):
        g = g + decay * p
        if momentum:
            state["b"] = g if t == 1 else momentum * state["b"] + (1 - dampening) * g
            g = g + momentum * state["b"] if nesterov else state["b"]
        return p - lr * g

    return rule


def adam(lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, decay=0.0, decoupled=0.0) -> Rule:
    def rule(p, g, t, state):
        p, g = p * (1 - lr * decoupled), g + decay * p
        state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        return p - lr * (state["m"] / (1 - b1**t)) / (np.sqrt(state["v"] / (1 - b2**t)) + eps)

    return rule


class Point(nn.Module):
    """A parameter as the output."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(np.linspace(-1, 1, 6).reshape(2, 3), name="p")

    def forward(self, x):
        return ops.multiply(self.p, x)


CASES = {
    "sgd": (lambda p: nn.optim.SGD(p, lr=0.1), sgd()),
    "decay": (lambda p: nn.optim.SGD(p, lr=0.1, weight_decay=0.3), sgd(decay=0.3)),
    "momentum": (lambda p: nn.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.1), sgd(0.05, 0.9, decay=0.1)),
    "dampening": (lambda p: nn.optim.SGD(p, 0.05, 0.9, 0.4), sgd(0.05, 0.9, 0.4)),
    "nesterov": (lambda p: nn.optim.SGD(p, 0.05, momentum=0.8, nesterov=True), sgd(0.05, 0.8, nesterov=True)),
    "adam": (lambda p: nn.optim.Adam(p, lr=0.05), adam(0.05)),
    "adam decay": (lambda p: nn.optim.Adam(p, 0.05, (0.8, 0.9), 1e-4, 0.2), adam(0.05, 0.8, 0.9, 1e-4, 0.2)),
    "adamw": (lambda p: nn.optim.AdamW(p, lr=0.05), adam(0.05, decoupled=0.01)),
}


@pytest.mark.parametrize("name", CASES)
def test_fifty_steps_follow_the_formula(name: str):
    make, rule = CASES[name]
    model = Point()
    step = nn.TrainingStep(model, nn.MSELoss(), make(model.parameters()))
    x, expected, state = np.full((2, 3), 1.5), model.p.data.copy(), {}
    for t in range(1, 51):
        loss = step(x, TARGET)
        difference = x * expected - TARGET
        assert abs(loss - np.mean(difference**2)) < 1e-12
        expected = rule(expected, 2 * difference * x / 6, t, state)
        np.testing.assert_allclose(model.p.data, expected, rtol=1e-10, atol=1e-12)


def test_the_learning_rate_may_change_without_compiling():
    model = Point()
    step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.0))
    before, x = model.p.data.copy(), np.ones((2, 3))
    step(x, TARGET)
    np.testing.assert_array_equal(model.p.data, before)
    step.optimizer.lr = 0.5
    step(x, TARGET)
    np.testing.assert_allclose(model.p.data, before - 0.5 * (before - TARGET) / 3, rtol=1e-12)
    assert len(step._plans) == 1


def test_a_frozen_parameter_stays():
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=1.0))
    x, y = np.ones((2, 3), np.float32), np.array([0, 1])
    for frozen in (True, False):
        model[0].requires_grad_(not frozen)
        before = model.state_dict()
        step(x[:1], y[:1])
        changed = {n for n, a in model.state_dict().items() if not np.array_equal(a, before[n])}
        assert changed == {"2.weight", "2.bias"} | (set() if frozen else {"0.weight", "0.bias"})


def test_a_parameter_that_is_not_used_is_told():
    model, other = Point(), nn.Linear(2, 1, bias=False, dtype="f64")
    step = nn.TrainingStep(
        model, nn.MSELoss(), nn.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
    )
    before = other.weight.data.copy()
    with pytest.warns(
        UserWarning,
        match="does not depend on 1 of the optimizer's parameters, which stay as they are: weight \\[1, 2\\]",
    ):
        step(np.ones((2, 3)), TARGET)
    np.testing.assert_array_equal(other.weight.data, before)


def test_state_can_be_taken_and_given():
    x, runs = np.full((2, 3), 1.5), []
    model = Point()
    step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.Adam(model.parameters(), lr=0.05))
    for _ in range(3):
        step(x, TARGET)
    saved, values = step.optimizer.state_dict(), model.state_dict()
    for continued in (step, None):
        if continued is None:
            model = Point()
            model.load_state_dict(values)
            continued = nn.TrainingStep(model, nn.MSELoss(), nn.optim.Adam(model.parameters()))
            continued.optimizer.load_state_dict(saved)
        for _ in range(3):
            continued(x, TARGET)
        runs.append(model.p.data.copy())
    np.testing.assert_array_equal(*runs)
    with pytest.raises(tx.CheckpointError) as caught:
        step.optimizer.load_state_dict(saved | {"7.exp_avg": np.zeros(3)})
    assert str(caught.value) == "error[checkpoint]: Adam: there is no state `7.exp_avg`"
    with pytest.raises(tx.CheckpointError) as caught:
        step.optimizer.load_state_dict(saved | {"0.exp_avg": np.zeros(3)})
    assert (
        str(caught.value)
        == "error[checkpoint]: Adam: state `0.exp_avg` is float64[3], expected float64[2, 3]"
    )
    with pytest.raises(tx.CheckpointError) as caught:
        step.optimizer.load_state_dict(saved | {"param_groups": []})
    assert str(caught.value) == "error[checkpoint]: Adam: the state is not of groups of 1 parameters"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda p: nn.optim.SGD(p, lr=-1),
            "error[arguments]: SGD: the learning rate is -1, expected a finite number of at least 0",
        ),
        (
            lambda p: nn.optim.SGD(p, lr=float("nan")),
            "error[arguments]: SGD: the learning rate is nan, expected a finite number of at least 0",
        ),
        (
            lambda p: nn.optim.Adam(p, lr=float("inf")),
            "error[arguments]: Adam: the learning rate is inf, expected a finite number of at least 0",
        ),
        (
            lambda p: nn.optim.Adam(p, betas=(0.9, 1.0)),
            "error[arguments]: Adam: betas[1] is 1.0, expected a finite number of at least 0 and below 1",
        ),
        (
            lambda p: nn.optim.SGD(p, nesterov=True),
            "error[arguments]: SGD: nesterov needs a momentum above 0 and no dampening",
        ),
        (
            lambda p: nn.optim.SGD([]),
            "error[arguments]: SGD: there are no parameters\n  help: pass the parameters of a model that has "
            "some",
        ),
        (
            lambda p: nn.optim.SGD([3.0]),
            "error[arguments]: SGD: 3.0 is no parameter\n  help: pass model.parameters()",
        ),
        (lambda p: nn.optim.SGD([*p] * 2), "error[arguments]: SGD: a parameter is listed twice"),
        (
            lambda p: nn.optim.SGD([{"params": p, "speed": 3}]),
            "error[arguments]: SGD: there is no option 'speed'\n"
            "  help: a group may have lr, momentum, dampening, weight_decay, nesterov, maximize",
        ),
        (
            lambda p: nn.optim.SGD([{"params": p, "lr": -1.0}]),
            "error[arguments]: SGD: the learning rate is -1.0, expected a finite number of at least 0",
        ),
        (
            lambda p: nn.optim.SGD(p).clip_grad_norm_(-1.0),
            "error[arguments]: clip_grad_norm_: max_norm is -1.0, expected a finite number of at least 0",
        ),
        (
            lambda p: setattr(nn.optim.Adam(p), "lr", float("nan")),
            "error[arguments]: Adam: the learning rate is nan, expected a finite number of at least 0",
        ),
        (
            lambda p: nn.optim.SGD(next(p)),
            "error[arguments]: SGD: params is one Parameter, expected model.parameters() or a list",
        ),
    ],
)
def test_refused(make, text: str):
    with pytest.raises(tx.CallError) as caught:
        make(Point().parameters())
    assert str(caught.value) == text


signed = tx.op("""
op signed<T: float>(p: T[*S], g: T[*S], m: T[*S], lr: f64, beta: f64) -> (new: T[*S], new_m: T[*S]) {
  new_m[*s] = T(beta) * m[*s] + T(1 - beta) * g[*s]
  new[*s] = p[*s] - T(lr) * sign(new_m[*s])
}""")


class Signed(nn.optim.Optimizer):
    """The example of the documentation: an optimizer of one's own."""

    def __init__(self, params, lr=1e-3, beta=0.9):
        super().__init__(params, lr=lr, beta=beta)

    def update(self, capture, parameter, gradient):
        self.apply(capture, signed, parameter, gradient, states=("m",), numbers=("lr", "beta"))


def test_an_optimizer_of_ones_own():
    model = Point()
    step = nn.TrainingStep(model, nn.MSELoss(), Signed(model.parameters(), lr=0.25))
    before = model.p.data.copy()
    step(np.ones((2, 3)), TARGET)
    np.testing.assert_allclose(model.p.data, before - 0.25 * np.sign(before - TARGET))
    assert list(step.optimizer.state_dict()) == ["steps", "updates", "param_groups", "0.m"]


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Point(), Point()

    def forward(self, x):
        return self.a(x) + self.b(x)


def test_groups_have_options_of_their_own():
    model = Two()
    optimizer = nn.optim.SGD(
        [{"params": model.a.parameters()}, {"params": model.b.p, "lr": 0.01, "momentum": 0.5}], lr=0.1
    )
    step = nn.TrainingStep(model, nn.MSELoss(), optimizer)
    start, x, buffer = model.a.p.data.copy(), np.ones((2, 3)), 0.0
    a, b = start.copy(), start.copy()
    for t in range(3):
        g = (a + b - TARGET) / 3
        step(x, TARGET)
        buffer = g if t == 0 else 0.5 * buffer + g
        a, b = a - 0.1 * g, b - optimizer.param_groups[1]["lr"] * buffer
        np.testing.assert_allclose(model.a.p.data, a, rtol=1e-12)
        np.testing.assert_allclose(model.b.p.data, b, rtol=1e-12)
        optimizer.param_groups[1]["lr"] = 0.02
    assert len(step._plans) == 1 and optimizer.lr == 0.1


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, np.inf])
def test_clipping_by_the_norm(norm_type: float):
    model = Two()
    optimizer = nn.optim.SGD(model.parameters(), lr=1.0).clip_grad_norm_(0.5, norm_type)
    start = model.a.p.data.copy()
    g = (2 * start - TARGET) / 3
    norm = np.linalg.norm(np.concatenate([g, g]).ravel(), norm_type)
    nn.TrainingStep(model, nn.MSELoss(), optimizer)(np.ones((2, 3)), TARGET)
    np.testing.assert_allclose(model.a.p.data, start - g * min(1, 0.5 / (norm + 1e-6)), rtol=1e-12)


def test_clipping_by_value_and_going_uphill():
    model = Point()
    start = model.p.data.copy()
    optimizer = nn.optim.SGD(model.parameters(), lr=1.0, maximize=True).clip_grad_value_(0.25)
    nn.TrainingStep(model, nn.MSELoss(), optimizer)(np.ones((2, 3)), TARGET)
    np.testing.assert_allclose(model.p.data, start + np.clip((start - TARGET) / 3, -0.25, 0.25), rtol=1e-12)


@pytest.mark.parametrize("decay", [None, 0.75])
def test_averaged_models(decay: float | None):
    model = nn.Sequential(nn.Linear(2, 1))
    average = nn.optim.AveragedModel(model, decay)
    expected, seen = None, []
    for value in (1.0, 5.0, -2.0):
        model[0].weight.data[...] = value
        average.update_parameters(model)
        seen.append(value)
        expected = (
            np.mean(seen)
            if decay is None
            else value
            if expected is None
            else expected + 0.25 * (value - expected)
        )
        np.testing.assert_allclose(average.module[0].weight.data, expected, rtol=1e-6)
    assert list(average.state_dict()) == ["n_averaged", "module.0.weight", "module.0.bias"]
    np.testing.assert_allclose(average(np.ones(2)), 2 * expected + model[0].bias.data, rtol=1e-5)
