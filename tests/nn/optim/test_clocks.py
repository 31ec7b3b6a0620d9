"""Updates are counted for each parameter: one without a gradient, or that was frozen, begins
where it was.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import texpr as tx
from texpr import nn

FIRST = {
    "Adam": 0.9,
    "AdamW": 0.899,
    "NAdam": 0.8943548,
    "RAdam": 0.9,
    "Adamax": 0.9,
    "ASGD": 0.89999,
    "SGD": 0.9,
    "Adagrad": 0.9,
    "Rprop": 0.9,
}
"""A parameter of 1 after its first update by a gradient of 1 at lr 0.1: the values of torch
2.13.
"""


def parameters(count: int = 2) -> list[nn.Parameter]:
    return [nn.Parameter(np.ones(1)) for _ in range(count)]


def stepped(optimizer: nn.optim.Optimizer, trained: list[nn.Parameter]) -> None:
    optimizer.zero_grad()
    for p in trained:
        p.grad = tx.tensor(np.ones(1))
    optimizer.step()


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("group", [False, True], ids=["of the group", "of another group"])
def test_a_parameter_whose_first_gradient_comes_late(name: str, group: bool):
    a, b = parameters()
    optimizer = getattr(nn.optim, name)([a] if group else [a, b], lr=0.1)
    for _ in range(9):
        stepped(optimizer, [a])
    if group:
        optimizer.add_param_group({"params": [b], "lr": 0.1})
    stepped(optimizer, [a, b])
    assert float(b.numpy()[0]) == pytest.approx(FIRST[name], abs=1e-6)
    assert optimizer.state_dict()["updates"] == [10, 1]


def test_gradients_that_come_and_go_make_no_more_programs():
    """Each parameter is as if it were alone with its gradients."""
    pattern = [(0, 1, 2), (0,), (0, 1), (2,), (0, 1), (0, 2), (1,), (0, 1, 2)] * 3
    together, alone = parameters(3), parameters(3)
    optimizer = nn.optim.Adam(together, lr=0.1)
    own = [nn.optim.Adam([p], lr=0.1) for p in alone]
    for trained in pattern:
        stepped(optimizer, [together[k] for k in trained])
        for k in trained:
            stepped(own[k], [alone[k]])
    for p, q in zip(together, alone):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    assert len(optimizer._plans) <= 12


def test_states_with_counts_are_taken_and_older_ones_too():
    a, b = parameters()
    optimizer = nn.optim.Adam([a, b], lr=0.1)
    stepped(optimizer, [a, b])
    stepped(optimizer, [a])
    state = copy.deepcopy(optimizer.state_dict())
    values = [p.numpy().copy() for p in (a, b)]
    stepped(optimizer, [a, b])
    expected = [p.numpy().copy() for p in (a, b)]
    for p, v in zip((a, b), values):
        p.data = v
    again = nn.optim.Adam([a, b], lr=0.1)
    again.load_state_dict(state)
    stepped(again, [a, b])
    np.testing.assert_array_equal([p.numpy() for p in (a, b)], expected)
    del state["updates"]
    again.load_state_dict(state)
    assert again.state_dict()["updates"] == [2, 2]
    with pytest.raises(tx.Error, match="the updates are not of 2 parameters"):
        again.load_state_dict(state | {"updates": [1]})


class Two(nn.Module):
    """Two layers, of which an option leaves one out."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x):
        return self.a(x) + self.b(x)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_training_steps_after_a_layer_was_frozen(accumulate: int):
    """The layer's first update is that of a new optimizer."""
    x, y = np.random.default_rng(0).normal(size=(6, 3)).astype("f4"), np.arange(6) % 4
    nn.manual_seed(0)
    model = Two()
    model.b.requires_grad_(False)
    step = nn.TrainingStep(
        model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), 0.01), accumulate=accumulate
    )
    for _ in range(3 * accumulate):
        step(x, y)
    model.b.requires_grad_(True)
    new = copy.deepcopy(model)
    fresh = nn.TrainingStep(
        new, nn.CrossEntropyLoss(), nn.optim.Adam(new.b.parameters(), 0.01), accumulate=accumulate
    )
    for _ in range(accumulate):
        fresh(x, y)
        step(x, y)
    np.testing.assert_array_equal(model.b.weight.numpy(), new.b.weight.numpy())
    assert step.optimizer.state_dict()["updates"] == [4, 4, 1, 1]


def test_a_closure_gives_the_loss():
    (p,) = parameters(1)
    optimizer = nn.optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure)) == 1 and float(p.numpy()[0]) == pytest.approx(0.8)
