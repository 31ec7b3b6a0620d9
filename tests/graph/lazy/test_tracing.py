"""What a call of a traced function does besides giving results: the same as the function itself
does on tensors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from texpr import nn

MODES = {"itself": lambda f: f, "traced": tx.jit}
mode = pytest.mark.parametrize("run", MODES.values(), ids=MODES)
Mode = Callable[[Callable], Callable]
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])


def leaf(*values: float) -> tx.Tensor:
    return tx.tensor([float(v) for v in values], requires_grad=True)


def linear() -> nn.Linear:
    layer = nn.Linear(3, 1).double()
    layer.weight.data = np.array([[0.5, -1.0, 0.25]])
    layer.bias.data = np.array([0.125])
    return layer


@mode
def test_gradients_flow_through_calls(run: Mode):
    square = run(lambda x: {"square": x * x, "part": x[:1]})
    x = leaf(1, 2, 3)
    found = square(x)
    ((found["square"] * 2).sum() + found["part"].sum()).backward()
    assert x.grad.tolist() == [5, 8, 12] and found["square"].requires_grad


@mode
def test_second_derivatives_flow_through_calls(run: Mode):
    cubes = run(lambda x: (x**3).sum())
    x = leaf(1, 2)
    cubes(x).backward(create_graph=True)
    slope, x.grad = x.grad, None
    slope.sum().backward()
    assert x.grad.tolist() == [6, 12]


@mode
def test_gradients_flow_to_parameters_through_calls(run: Mode):
    model = linear()
    apply = run(lambda x: model(x))
    x = tx.tensor(X)
    apply(x).sum().backward()
    assert model.weight.grad.tolist() == [[0, 2.5, 5]] and model.bias.grad.tolist() == [2]
    with tx.no_grad():
        assert not apply(x).requires_grad
    assert not run(lambda x: model(x).detach())(x).requires_grad


@mode
def test_no_gradient_flows_through_what_was_computed_without(run: Mode):
    def f(x):
        with tx.no_grad():
            scale = x * 10
        return x * scale

    x = leaf(1, 2)
    run(f)(x).sum().backward()
    assert x.grad.tolist() == [10, 20]


@mode
def test_elements_of_arguments_that_are_assigned(run: Mode):
    def f(x, y):
        x[0] = 5.0
        y["y"][1] = x[0] + x[1]
        x += 1
        return x.sum()

    x, y, traced = tx.tensor([1.0, 2.0]), tx.tensor([0.0, 0.0]), run(f)
    before = x * 1
    assert traced(x, {"y": y}).item() == 9
    assert (x.tolist(), y.tolist(), before.tolist()) == ([5, 2], [0, 7], [1, 2])
    x[0] = 1.0
    assert traced(x, {"y": y}).item() == 9 and x.tolist() == [5, 2]


def test_arrays_are_not_written():
    def f(x):
        x[0] = 5.0
        return x.sum()

    a, traced = np.array([1.0, 2.0]), tx.jit(f)
    assert [traced(a).item() for _ in range(3)] == [7, 7, 7] and a.tolist() == [1, 2]


@mode
def test_training_by_hand(run: Mode):
    model = linear()

    def step(x):
        loss = (model(x) ** 2).sum()
        loss.backward()
        for p in model.parameters():
            p.data = p.data - 0.125 * p.grad
            p.grad = None
        return loss

    traced = run(step)
    losses = [traced(tx.tensor(X)).item() for _ in range(3)]
    w, b = np.array([[0.5, -1.0, 0.25]]), np.array([0.125])
    for found in losses:
        out = X @ w.T + b
        assert found == pytest.approx((out**2).sum())
        w, b = w - 0.25 * out.T @ X, b - 0.25 * out.sum(0)
    np.testing.assert_allclose(model.weight.data, w)
    assert model.weight.grad is None
    assert getattr(traced, "traces", 1) == 1


@mode
def test_gradients_of_parameters_add_up_over_calls(run: Mode):
    model = linear()

    def add(x):
        model(x).sum().backward()
        return model.bias.grad * 1

    traced = run(add)
    assert [traced(tx.tensor(X)).tolist() for _ in range(3)] == [[2], [4], [6]]
    assert model.weight.grad.tolist() == [[0, 7.5, 15]]
    model.weight.grad = model.bias.grad = None
    assert traced(tx.tensor(X)).tolist() == [2] and model.weight.grad.tolist() == [[0, 2.5, 5]]
    assert getattr(traced, "traces", 2) == 2, "with gradients, and without"


@mode
def test_gradients_that_are_forgotten_first(run: Mode):
    model = linear()

    def anew(x):
        for p in model.parameters():
            p.grad = None
        model(x).sum().backward()

    traced = run(anew)
    for _ in range(3):
        traced(tx.tensor(X))
    assert model.weight.grad.tolist() == [[0, 2.5, 5]] and getattr(traced, "traces", 1) == 1


@mode
def test_what_follows_an_assignment_sees_it(run: Mode):
    model = linear()

    def twice(x):
        w = model.weight
        new = w.data * 2
        w.data = new
        (model(x) ** 2).sum().backward()
        return w.grad, new

    gradient, new = run(twice)(tx.tensor(X))
    w = 2 * np.array([[0.5, -1.0, 0.25]])
    np.testing.assert_allclose(gradient.numpy(), 2 * (X @ w.T + 0.125).T @ X)
    np.testing.assert_array_equal(model.weight.data, w)


@mode
def test_running_statistics_of_a_module_that_is_called_twice(run: Mode):
    norm = nn.BatchNorm1d(3, momentum=0.5).double()
    f = run(lambda x: norm(norm(x) + 1))
    f(tx.tensor(X))
    first = X.mean(0) * 0.5
    np.testing.assert_allclose(norm.running_mean.numpy(), first * 0.5 + 0.5, atol=1e-6)
    assert int(norm.num_batches_tracked.data) == 2
