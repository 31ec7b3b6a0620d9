"""nn.utils, and optimizers that ask for more than a gradient."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nn.core.test_module import complaint
from texpr import nn
from texpr.nn import utils

ROSENBROCK = tx.op("""op rosenbrock(p: f64[N]) -> l: f64 require N % 2 == 0 {
  l = sum(i in 0..N // 2: 100 * (p[2*i + 1] - p[2*i] * p[2*i]) * (p[2*i + 1] - p[2*i] * p[2*i]) + (1 - p[2*i]) * (1 - p[2*i]))
}""")


class Valley(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(np.array([-1.2, 1.0]))

    def forward(self, one):
        return ROSENBROCK(self.p) * one


def searching(model: Valley, optimizer: nn.optim.LBFGS, calls: list[float]):
    def closure() -> tx.Tensor:
        optimizer.zero_grad()
        loss = model(tx.tensor(np.float64(1)))
        loss.backward()
        calls.append(loss.item())
        return loss

    return closure


def test_lbfgs_finds_the_valley():
    """PyTorch takes as many calls and steps."""
    model, calls = Valley(), []
    optimizer = nn.optim.LBFGS(
        model.parameters(), max_iter=100, history_size=5, line_search_fn="strong_wolfe"
    )
    loss = optimizer.step(searching(model, optimizer, calls))
    assert loss.item() == calls[0] == pytest.approx(24.2)
    np.testing.assert_allclose(model.p.data, 1, atol=1e-4)
    assert (len(calls), optimizer.steps) == (43, 35)


def test_lbfgs_goes_on_from_its_state():
    one, two, calls = Valley(), Valley(), []
    first, second = (nn.optim.LBFGS(m.parameters(), 1e-3, max_iter=3, history_size=2) for m in (one, two))
    first.step(searching(one, first, calls))
    two.p.data = one.p.data
    second.load_state_dict(first.state_dict())
    for model, optimizer in ((one, first), (two, second)):
        optimizer.step(searching(model, optimizer, calls))
    np.testing.assert_array_equal(one.p.data, two.p.data)
    assert second.steps == 4
    other = nn.optim.LBFGS([nn.Parameter(np.zeros(3))])
    with pytest.raises(tx.CheckpointError, match="LBFGS: the history is not of 3 elements"):
        other.load_state_dict(first.state_dict())


def test_lbfgs_refuses():
    model = Valley()
    optimizer = nn.optim.LBFGS(model.parameters())
    assert (
        complaint(optimizer.step)
        == """\
error[arguments]: LBFGS: step() was called without a closure
  help: pass a function that computes the loss, calls its backward() and returns it"""
    )
    assert (
        complaint(lambda: optimizer.step(lambda: tx.tensor(1.0)))
        == """\
error[gradient]: LBFGS: no parameter has a gradient
  help: the closure calls backward() on the loss"""
    )
    assert (
        complaint(lambda: nn.optim.LBFGS(model.parameters(), line_search_fn="armijo"))
        == """\
error[arguments]: LBFGS: line_search_fn is 'armijo', expected None or 'strong_wolfe'"""
    )
    two = nn.Parameter(np.zeros(1)), nn.Parameter(np.zeros(1, np.float32))
    assert (
        complaint(lambda: nn.optim.LBFGS(two))
        == """\
error[arguments]: LBFGS: the parameters are of several groups, dtypes or devices, expected one"""
    )
    linear = nn.Linear(2, 1)
    step = nn.TrainingStep(linear, nn.MSELoss(), nn.optim.LBFGS(linear.parameters()))
    assert (
        complaint(lambda: step(np.ones((1, 2)), np.ones((1, 1))))
        == """\
error[arguments]: LBFGS computes the loss as often as its search asks, and a compiled step computes it once
  help: write the loop: optimizer.step(closure)"""
    )


def test_rows_that_are_not_looked_up_stay():
    model = nn.Sequential(nn.Embedding(4, 2, sparse=True, dtype="f64"), nn.Flatten(0))
    optimizer, before = nn.optim.SparseAdam(model.parameters(), lr=0.1), model[0].weight.data.copy()
    step = nn.TrainingStep(model, nn.MSELoss(), optimizer)
    for index in (1, 3):
        step(np.array([index]), np.zeros(2))
    moved = np.abs(model[0].weight.data - before).max(1)
    assert moved[[0, 2]].tolist() == [0, 0] and moved[1] == pytest.approx(
        0.1, rel=1e-4
    )  # epsilon beside a small gradient
    means = optimizer.state_dict()["0.exp_avg"]
    assert isinstance(means, np.ndarray) and means.any(1).tolist() == [False, True, False, True]


def left_with(*gradients: object) -> list[nn.Parameter]:
    """Parameters after a backward pass that gives them these gradients."""
    given = [nn.Parameter(np.zeros(np.shape(g))) for g in gradients]
    for p, g in zip(given, gradients):
        p.grad = None if g is None else tx.tensor(np.asarray(g, np.float64))
    return given


def test_clipping_what_backward_has_left():
    given = [*left_with([3.0, 0.0], [[4.0]]), nn.Parameter(np.zeros(2))]
    assert utils.clip_grad_norm_(given, 1.0).item() == 5
    np.testing.assert_allclose(given[0].grad.numpy(), [0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(given[1].grad.numpy(), [[0.8]], rtol=1e-6)
    assert given[2].grad is None and utils.clip_grad_norm_(given, 9.0, float("inf")).item() == pytest.approx(
        0.8
    )
    utils.clip_grad_value_(given, 0.7)
    assert given[1].grad.item() == 0.7 and utils.clip_grad_norm_(given[2], 1.0).item() == 0
    assert (
        complaint(lambda: utils.clip_grad_norm_(left_with([np.nan]), 1.0, error_if_nonfinite=True))
        == """\
error[gradient]: the norm of the gradients is nan
  help: error_if_nonfinite=False goes on"""
    )
    assert (
        complaint(lambda: utils.clip_grad_value_([3], 1.0))
        == """\
error[arguments]: clip_grad_value_: 3 is no parameter
  help: pass model.parameters()"""
    )


def test_parameters_as_one_vector():
    model = nn.Linear(3, 2)
    vector = utils.parameters_to_vector(model.parameters())
    assert vector.shape == (8,) and np.array_equal(vector[6:], model.bias.data)
    utils.vector_to_parameters(np.arange(8.0), model.parameters())
    assert model.weight.data.tolist() == [[0, 1, 2], [3, 4, 5]] and model.bias.data.dtype == np.float32
    assert (
        complaint(lambda: utils.vector_to_parameters(np.ones(7), model.parameters()))
        == """\
error[shape]: vector_to_parameters: the vector is [7], the parameters have 8 elements"""
    )
    assert (
        complaint(lambda: utils.parameters_to_vector([]))
        == "error[arguments]: parameters_to_vector: no parameters"
    )


def test_names_that_are_not_there_say_why():
    with pytest.raises(
        AttributeError, match="texpr.nn.utils has no `weight_norm`: nn.parametrizations has weight_norm"
    ):
        utils.weight_norm  # noqa: B018
