"""The trainer as callbacks see it: they know nothing of the loop that calls them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from texpr.nn.core.module import Module
from texpr.nn.optim import Optimizer
from texpr.nn.training.history import History


class TrainerLike(Protocol):
    """The part of `nn.Trainer` that callbacks may use.

    Attributes:
        model, optimizer: those that are trained.
    """

    model: Module
    optimizer: Optimizer

    @property
    def history(self) -> History:
        """Measurements of the epochs that are done."""
        ...

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the whole training."""
        ...
