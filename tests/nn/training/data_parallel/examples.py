"""A small training, and what it leaves, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.distributed.thread_world import run_ranks
from texpr import nn
from texpr.distributed import Communicator, DistributedError

RANDOM = np.random.default_rng(0)
CENTERS = RANDOM.normal(size=(3, 5)) * 2
Y = RANDOM.integers(0, 3, 37)
X = (CENTERS[Y] + RANDOM.normal(size=(37, 5))).astype(np.float32)
"""Five batches of eight, the last of which has five examples."""

Fit = Callable[[Communicator | None], Any]


def network() -> nn.Sequential:
    """Layers with states of both kinds: running statistics, and the seed of dropout."""
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def plain() -> nn.Sequential:
    """Layers without states."""
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))


def trainer(
    comm: Communicator | None,
    model: nn.Module,
    optimizer: Callable[[Any], nn.optim.Optimizer] = lambda p: nn.optim.SGD(p, lr=0.1),
    loss: Any = None,
    **options: Any,
) -> nn.Trainer:
    """A trainer of a model, on ranks where there are some."""
    return nn.Trainer(
        model, loss or nn.CrossEntropyLoss(), optimizer(model.parameters()), comm=comm, **options
    )


def everything(t: nn.Trainer) -> dict[str, object]:
    """All bits of a training, and what it has measured."""
    own = (*t.model.named_parameters(), *t.model.named_buffers())
    state = {n: v for n, v in t.optimizer.state_dict().items() if n != "param_groups"}
    found = {n: v.data.tobytes() for n, v in own}
    found |= {n: v.tobytes() if isinstance(v, np.ndarray) else v for n, v in state.items()}
    return {**found, "lr": t.optimizer.lr, "history": dict(t.history)}


def on_ranks(size: int, fit: Fit, timeout: float = 60.0, delay: float = 0.0) -> list[Any]:
    """What a training gives on each of some ranks, which are threads; an error of one is raised."""
    found = run_ranks(size, fit, timeout, delay)
    errors = [each for each in found if isinstance(each, BaseException)]
    for each in sorted(errors, key=lambda e: isinstance(e, DistributedError)):
        raise each  # the cause, before those of ranks that have waited
    return found


def differences(found: dict[str, object], expected: dict[str, object]) -> list[str]:
    """Names of what is not the same, bit for bit."""
    return [n for n in {**found, **expected} if repr(found.get(n)) != repr(expected.get(n))]
