"""Functions that `fit` calls after each epoch, with the trainer, the epoch (from 0) and what was measured. True ends the training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isnan
from typing import TYPE_CHECKING

from texpr.nn.arguments import whole
from texpr.nn.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from texpr.support.errors import CallError

if TYPE_CHECKING:
    from texpr.nn.trainer import Trainer

Callback = Callable[["Trainer", int, Mapping[str, float]], object]


class EarlyStopping:
    """Ends the training when a measurement has not become smaller (or larger, mode `max`) for `patience` epochs."""

    def __init__(self, monitor: str = "val_loss", patience: int = 3, mode: str = "min") -> None:
        if mode not in ("min", "max"):
            raise CallError(f"EarlyStopping: mode is {mode!r}, expected min or max", code="arguments")
        self.monitor, self.patience, self.mode = monitor, whole("EarlyStopping", "patience", patience), mode
        self._best, self._waited = inf, 0

    def __call__(self, trainer: Trainer, epoch: int, values: Mapping[str, float]) -> bool:
        if self.monitor not in values:
            raise CallError(f"EarlyStopping: `{self.monitor}` is not measured", code="arguments", help=f"measured are {', '.join(values)}")
        if epoch == 0:
            self._best, self._waited = inf, 0
        value = values[self.monitor] if self.mode == "min" else -values[self.monitor]
        better = value < self._best and not isnan(value)
        self._best, self._waited = (value, 0) if better else (self._best, self._waited + 1)
        return self._waited >= self.patience


class LearningRate:
    """Steps a scheduler of `nn.optim.lr_scheduler` after each epoch; `monitor` is what ReduceLROnPlateau looks at."""

    def __init__(self, scheduler: LRScheduler, monitor: str = "val_loss") -> None:
        self.scheduler, self.monitor = scheduler, monitor

    def __call__(self, trainer: Trainer, epoch: int, values: Mapping[str, float]) -> None:
        if not isinstance(self.scheduler, ReduceLROnPlateau):
            return self.scheduler.step()
        if self.monitor not in values:
            raise CallError(f"LearningRate: `{self.monitor}` is not measured", code="arguments", help=f"measured are {', '.join(values)}")
        return self.scheduler.step(values[self.monitor])
