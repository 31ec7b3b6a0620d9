"""Training by hand on lazy tensors: the same numbers as the compiled step."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import nn

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((16, 6)).astype("f4"), RANDOM.integers(0, 3, 16)


def network() -> nn.Sequential:
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def by_hand(model: nn.Module, optimizer: nn.optim.Optimizer, steps: int) -> list[float]:
    loss, losses = nn.CrossEntropyLoss(), []
    x, y = tx.tensor(X), tx.tensor(Y)
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


OPTIMIZERS = {
    "sgd": lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: nn.optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_loop_by_hand_is_the_compiled_step(name: str):
    make = OPTIMIZERS[name]
    one, two = network(), network()
    step = nn.TrainingStep(two, nn.CrossEntropyLoss(), optimizer := make(list(two.parameters())))
    expected = [step(X, Y) for _ in range(4)]
    np.testing.assert_allclose(by_hand(one, make(list(one.parameters())), 4), expected, rtol=1e-5)
    for p, q in zip(one.parameters(), two.parameters()):
        np.testing.assert_allclose(p.data, q.data, rtol=1e-4, atol=1e-6)
    assert optimizer.steps == 4


def test_what_waits_keeps_the_old_parameters():
    layer = nn.Linear(6, 2)
    weight, bias = layer.weight.data.copy(), layer.bias.data.copy()
    before = layer(tx.tensor(X))
    layer.weight.data = np.zeros_like(weight)
    np.testing.assert_allclose(before.numpy(), X @ weight.T + bias, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer(tx.tensor(X)).numpy(), np.broadcast_to(bias, (16, 2)), rtol=1e-6)


def test_gradients_add_up_until_they_are_forgotten():
    layer = nn.Linear(6, 2)
    for _ in range(2):
        layer(tx.tensor(X)).sum().backward()
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), np.broadcast_to(2 * X.sum(0), (2, 6)), rtol=1e-4, atol=1e-5
    )
    optimizer = nn.optim.SGD(layer.parameters(), lr=0.1)
    optimizer.zero_grad()
    assert layer.weight.grad is None
    with pytest.raises(tx.CallError) as error:
        optimizer.step()
    assert (
        str(error.value)
        == "error[gradient]: SGD: no parameter has a gradient\n  help: call backward() on the loss first"
    )


def test_frozen_parameters_have_no_gradient():
    model = network()
    model[0].requires_grad_(False)
    nn.CrossEntropyLoss()(model(tx.tensor(X)), tx.tensor(Y)).backward()
    assert model[0].weight.grad is None and model[2].weight.grad is not None


def test_gradients_reach_inputs_through_modules():
    layer = nn.Linear(6, 2).double()
    x = tx.tensor(X.astype("f8"), requires_grad=True)
    (layer(x) ** 2).sum().backward()
    out = X.astype("f8") @ layer.weight.data.T + layer.bias.data
    np.testing.assert_allclose(x.grad.numpy(), 2 * out @ layer.weight.data, rtol=1e-10)


def test_dropout_draws_anew_and_its_gradient_has_the_same_mask():
    model = nn.Dropout(0.5)
    x = tx.tensor(np.ones((50, 40), "f4"), requires_grad=True)
    first = model(x)
    first.sum().backward()
    np.testing.assert_array_equal(first.numpy(), x.grad.numpy())
    assert (model(x).numpy() != first.numpy()).any()
    model.eval()
    assert (model(x).numpy() == 1).all()


def test_parameters_take_part_in_expressions():
    p = nn.Parameter(np.array([1.0, 2.0]))
    penalty = (tx.tensor([3.0, 4.0]) * p).sum()
    penalty.backward()
    assert p.grad.tolist() == [3, 4]
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert other.leaf is None and other.data.tolist() == [1, 2]


def test_a_module_in_a_traced_function():
    model = network()

    @tx.jit
    def predict(model, x):
        return model(x).softmax()

    found = predict(model, X)
    np.testing.assert_allclose(found.numpy().sum(1), np.ones(16), rtol=1e-5)
    model[0].weight.data[...] = 0
    model[2].weight.data[...] = 0
    assert predict.traces == 1 and not np.allclose(predict(model, X).numpy(), found.numpy())
    model.eval()
    predict(model, X)
    assert predict.traces == 2


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_gates_of_a_recurrent_module_have_their_gradients(kind: type):
    """Weights are (gates, hidden) to the operator and gates * hidden to the module that calls
    it.
    """
    layer = kind(4, 3, dtype="f64")
    x, h = RANDOM.standard_normal((5, 2, 4)), 1e-6
    layer(tx.tensor(x))[0].sum().backward()
    for p in layer.parameters():
        at = np.unravel_index(p.size // 2, p.shape)
        ends = []
        for sign in (1, -1):
            p.data[at] += sign * h
            ends.append(float(layer(x)[0].sum()))
            p.data[at] -= sign * h
        assert p.grad is not None and abs(p.grad.numpy()[at] - (ends[0] - ends[1]) / (2 * h)) < 1e-7
