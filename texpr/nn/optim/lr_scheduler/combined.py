"""Schedulers of schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from texpr.nn.core.argument_checks import whole
from texpr.nn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError, CheckpointError


class _Combined(LRScheduler):
    """Schedulers of one optimizer."""

    def _take(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        if not schedulers:
            raise CallError(f"{type(self).__name__}: there are no schedulers", code="arguments")
        for k, scheduler in enumerate(schedulers):
            if not isinstance(scheduler, LRScheduler) or isinstance(scheduler, ReduceLROnPlateau):
                raise CallError(
                    f"{type(self).__name__}: entry {k} is a {type(scheduler).__name__}, expected a scheduler "
                    f"that needs no "
                    "metric",
                    code="arguments",
                )
            if scheduler.optimizer is not optimizer:
                raise CallError(
                    f"{type(self).__name__}: scheduler {k} is of another optimizer", code="arguments"
                )
        self.optimizer, self.schedulers = optimizer, list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch, "schedulers": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        states = state_dict.get("schedulers")
        if not isinstance(states, list | tuple) or len(states) != len(self.schedulers):
            raise CheckpointError(
                f"{type(self).__name__}: the state is not of {len(self.schedulers)} schedulers",
                code="checkpoint",
            )
        self.last_epoch = whole(type(self).__name__, "last_epoch", state_dict.get("last_epoch"), 0)
        for scheduler, state in zip(self.schedulers, states, strict=True):
            scheduler.load_state_dict(state)
        self._last_lr = self.values("lr")


class SequentialLR(_Combined):
    """Schedulers one after the other: the next begins at each milestone.

    Args:
        optimizer: of all of them.
        schedulers: in order.
        milestones: epochs, one fewer than schedulers.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no schedulers, schedulers of another optimizer, or another number of milestones.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> rise = nn.optim.lr_scheduler.LinearLR(optimizer, 0.5, total_iters=2)
        >>> fall = nn.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> scheduler = nn.optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], milestones=[2])
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(optimizer.lr)
        ...     scheduler.step()
        >>> rates
        [0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self._take(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise CallError(
                f"SequentialLR: {len(schedulers)} schedulers and {len(milestones)} milestones, expected one "
                f"less",
                code="arguments",
            )
        self.milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self.schedulers:
            _undo(scheduler)
        first = self.schedulers[bisect_right(self.milestones, 0)]
        first.begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        self.last_epoch += 1
        position = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[position]
        if position > 0 and self.milestones[position - 1] == self.last_epoch:
            scheduler.restart()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Product of schedulers: all step at once, each from the rates that the one before has set.

    Args:
        schedulers: of one optimizer.
        optimizer: theirs, accepted as torch has it.
    Raises:
        CallError: no schedulers, or schedulers of several optimizers.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> first = nn.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> second = nn.optim.lr_scheduler.StepLR(optimizer, 2)
        >>> scheduler = nn.optim.lr_scheduler.ChainedScheduler([first, second])
        >>> scheduler.step()
        >>> optimizer.lr
        0.5
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers[0].optimizer if optimizer is None and schedulers else optimizer, schedulers)  # type: ignore[arg-type]
        self.last_epoch, self._last_lr = 0, self.values("lr")

    def step(self) -> None:
        self.last_epoch += 1
        for scheduler in self.schedulers:
            scheduler.step()
        self._last_lr = self.values("lr")


def _undo(scheduler: LRScheduler) -> None:
    """The first step that a scheduler has made when it was made counts not."""
    for inner in getattr(scheduler, "schedulers", ()):
        _undo(inner)
    if not hasattr(scheduler, "schedulers"):
        scheduler.last_epoch -= 1
