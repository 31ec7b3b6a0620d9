"""Callbacks that change the course of a training."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from texpr.nn.core.argument_checks import number, whole
from texpr.nn.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from texpr.nn.training.callbacks.callback import Best, Callback, measured
from texpr.nn.training.protocol import TrainerLike
from texpr.support.errors import CallError


class EarlyStopping(Callback):
    """End of the training when a measurement has not become better for `patience` epochs.

    Args:
        monitor: the measurement.
        patience: epochs without an improvement.
        mode: "min" if smaller is better, "max" if larger.
        min_delta: the least improvement that counts.
        restore_best: at the end, the model gets the parameters and buffers of the best epoch.
    Raises:
        CallError: an argument out of its range, or `monitor` is not measured.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> stop = nn.callbacks.EarlyStopping("loss", patience=2, min_delta=10.0)
        >>> history = trainer.fit(x, y, epochs=10, progress=False, callbacks=[stop])
        >>> history.epochs
        3
    """

    every_rank = True

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 3,
        mode: str = "min",
        min_delta: float = 0.0,
        restore_best: bool = False,
    ) -> None:
        self._best = Best("EarlyStopping", mode, number("EarlyStopping", "min_delta", min_delta))
        self.monitor, self.patience, self.restore_best = (
            monitor,
            whole("EarlyStopping", "patience", patience),
            bool(restore_best),
        )
        self._waited = 0
        self._kept: dict[str, np.ndarray] | None = None

    def on_train_begin(self, trainer: TrainerLike) -> None:
        if trainer.epoch == 0:
            self._best.value, self._waited, self._kept = inf, 0, None

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> bool:
        better = self._best.improves(measured(self, self.monitor, values))
        self._waited = 0 if better else self._waited + 1
        if better and self.restore_best:
            self._kept = trainer.model.state_dict()
        return self._waited >= self.patience

    def on_train_end(self, trainer: TrainerLike) -> None:
        if self._kept is not None:
            trainer.model.load_state_dict(self._kept)

    def key(self) -> str:
        return f"EarlyStopping({self.monitor}, {self._best.mode})"

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best.value, "waited": self._waited, "kept": self._kept}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        kept = state_dict["kept"]
        if kept is not None and not (
            isinstance(kept, dict) and all(isinstance(a, np.ndarray) for a in kept.values())
        ):
            raise ValueError("the best parameters are no arrays by name")
        self._waited = whole("EarlyStopping", "waited", state_dict["waited"], 0)
        self._best.load(state_dict["best"])
        self._kept = kept


class LearningRate(Callback):
    """Step of a scheduler of `nn.optim.lr_scheduler` after each epoch, or after each update.

    Args:
        scheduler: of the trainer's optimizer.
        monitor: the measurement that ReduceLROnPlateau looks at.
        every: "epoch" or "step".
    Raises:
        CallError: no scheduler, another word for `every`, or `monitor` is not measured.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> scheduler = nn.optim.lr_scheduler.ExponentialLR(trainer.optimizer, 0.5)
        >>> history = trainer.fit(x, y, epochs=2, progress=False, callbacks=[nn.callbacks.LearningRate(scheduler)])
        >>> trainer.optimizer.lr
        0.025
    """

    every_rank = True

    def __init__(self, scheduler: LRScheduler, monitor: str = "val_loss", every: str = "epoch") -> None:
        if not isinstance(scheduler, LRScheduler):
            raise CallError(
                f"LearningRate: {scheduler!r} is no scheduler",
                code="arguments",
                help="make one of nn.optim.lr_scheduler",
            )
        if every not in ("epoch", "step") or (every == "step" and isinstance(scheduler, ReduceLROnPlateau)):
            raise CallError(
                f"LearningRate: every is {every!r}, expected epoch, or step for a scheduler without a metric",
                code="arguments",
            )
        self.scheduler, self.monitor, self.every = scheduler, monitor, every

    def on_step_end(self, trainer: TrainerLike, step: int, values: Mapping[str, float]) -> None:
        if self.every == "step":
            self.scheduler.step()

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step(measured(self, self.monitor, values))
        elif self.every == "epoch":
            self.scheduler.step()

    def key(self) -> str:
        return f"LearningRate({type(self.scheduler).__name__}, {self.every})"

    def state_dict(self) -> dict[str, Any]:
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.scheduler.load_state_dict(state_dict)
