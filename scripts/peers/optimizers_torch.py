"""The optimizers and schedulers of `tests/nn/optimizer_table.py` in PyTorch, in f64: writes JSON
to the standard output.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.nn.optimizer_table import FACTOR, OPTIMIZERS, SCHEDULERS, START, STEPS, TARGET, rates  # noqa: E402


def trajectory(text: str) -> list[list[float]]:
    """The parameter after every step."""
    p = torch.nn.Parameter(torch.from_numpy(START.copy()))
    optimizer = eval(text, {**vars(torch.optim), "p": [p]})
    found = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.mean((FACTOR * p - torch.from_numpy(TARGET)) ** 2)
        value.backward()
        if text.startswith("SparseAdam"):
            p.grad = p.grad.to_sparse(1)
        return value

    for _ in range(STEPS):
        optimizer.step(closure)
        found.append(p.detach().flatten().tolist())
    return found


def schedule(text: str) -> list[list[float]]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.7)
    return rates(eval(text, {**vars(torch.optim.lr_scheduler), "o": optimizer}), optimizer)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    print(
        json.dumps(
            {
                "optimizers": {t: trajectory(t) for t in OPTIMIZERS},
                "schedulers": {t: schedule(t) for t in SCHEDULERS},
            }
        )
    )
