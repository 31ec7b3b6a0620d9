"""The optimizers and schedulers of the table, in texpr.nn."""

from __future__ import annotations

import numpy as np

import texpr as tx
from tests.nn.optimizer_table import FACTOR, START, STEPS, TARGET, rates
from texpr import nn


class Point(nn.Module):
    """A parameter times x."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(START.copy(), name="p")

    def forward(self, x):
        return x * self.p


def trajectory(text: str) -> np.ndarray:
    """The parameter after every step."""
    model, loss = Point(), nn.MSELoss()
    optimizers = {name: getattr(nn.optim, name) for name in nn.optim.__all__}
    optimizer, x = eval(text, {**optimizers, "p": model.parameters()}), np.full_like(START, FACTOR)
    step = nn.TrainingStep(model, loss, optimizer)
    found = []

    def closure() -> tx.Tensor:
        optimizer.zero_grad()
        value = loss(model(tx.tensor(x)), tx.tensor(TARGET))
        value.backward()
        return value

    for _ in range(STEPS):
        optimizer.step(closure) if text.startswith("LBFGS") else step(x, TARGET)
        found.append(model.p.data.ravel().copy())
    return np.array(found)


def schedule(text: str) -> np.ndarray:
    """Rate and momentum in every epoch."""
    optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=0.1, momentum=0.7)
    return np.array(rates(eval(text, {**vars(nn.optim.lr_scheduler), "o": optimizer}), optimizer))
