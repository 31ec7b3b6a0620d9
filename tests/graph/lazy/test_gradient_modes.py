"""Blocks in which gradients are recorded, or not, and what uses them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn


def test_blocks_in_blocks():
    x = tx.ones(2, requires_grad=True)
    with tx.no_grad():
        assert not (x * 2).requires_grad
        with tx.enable_grad():
            assert (x * 2).requires_grad
        with tx.set_grad_enabled(True), tx.set_grad_enabled(False):
            assert not (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


@pytest.mark.parametrize("mode", [tx.no_grad, tx.enable_grad])
def test_they_decorate(mode):
    x = tx.ones(2, requires_grad=True)

    @mode()
    def double():
        return x * 2

    with tx.set_grad_enabled(mode is tx.no_grad):
        for _ in range(2):
            assert double().requires_grad == (mode is tx.enable_grad)


def test_a_function_in_the_place_of_a_truth_value():
    with pytest.raises(tx.CallError) as caught:
        tx.set_grad_enabled(test_blocks_in_blocks)  # type: ignore[arg-type]
    assert str(caught.value).startswith("error[arguments]: set_grad_enabled of <function test_blocks")


def test_a_penalty_of_gradients():
    """The way that the guide shows for `torch.autograd.grad(create_graph=True)`, against differences."""
    nn.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    points = np.random.default_rng(0).standard_normal((5, 3))

    def penalty() -> tx.Tensor:
        x = tx.tensor(points, requires_grad=True)
        critic(x).sum().backward(create_graph=True)
        critic.zero_grad()
        return ((x.grad.norm(dim=1) - 1) ** 2).mean()

    penalty().backward()
    found, step = critic[0].weight.grad.numpy()[0, 0], 1e-6
    values = []
    for change in (step, -2 * step):
        with tx.no_grad():
            critic[0].weight[0, 0] += change
        values.append(penalty().item())
    assert found == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6)
