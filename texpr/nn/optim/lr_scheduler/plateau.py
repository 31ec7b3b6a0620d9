"""Rates that fall when a measurement does not get better."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from texpr.nn.core.argument_checks import number, whole
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler, per_group
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError


class ReduceLROnPlateau(LRScheduler):
    """Reduction on plateaus: the rate times `factor` when a measurement has not become better for
    more than `patience` epochs; `step(metrics)` takes it.

    Args:
        mode: "min" if smaller is better, else "max".
        threshold: how much better counts: a share of the best ("rel") or that much ("abs").
        cooldown: epochs after a reduction that do not count.
        min_lr: the least rate, for all groups or for each.
        eps: reductions by less are not made.
    Raises:
        CallError: no optimizer, an unknown mode, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     scheduler.step(loss)
        >>> optimizer.lr
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise CallError(f"ReduceLROnPlateau: {optimizer!r} is no optimizer", code="arguments")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise CallError(
                f"ReduceLROnPlateau: mode and threshold_mode are {mode!r} and {threshold_mode!r}, expected "
                f"min or max and "
                "rel or abs",
                code="arguments",
            )
        self.optimizer, self.mode, self.threshold_mode = optimizer, mode, threshold_mode
        owner = "ReduceLROnPlateau"
        self.factor, self.threshold = (
            number(owner, "factor", factor, 0.0, 1.0),
            number(owner, "threshold", threshold, 0.0, 1.0),
        )
        self.patience, self.cooldown = (
            whole(owner, "patience", patience, 0),
            whole(owner, "cooldown", cooldown, 0),
        )
        self.min_lrs, self.eps = per_group(owner, optimizer, "min_lr", min_lr), number(owner, "eps", eps)
        self.best = inf if mode == "min" else -inf
        self.last_epoch, self.bad_epochs, self.cooling = 0, 0, 0
        self._last_lr = self.values("lr")

    def step(self, metrics: float) -> None:  # type: ignore[override]
        """An epoch is done, and this was measured."""
        self.last_epoch += 1
        if self._is_better(float(metrics)):
            self.best, self.bad_epochs = float(metrics), 0
        else:
            self.bad_epochs += 1
        if self.cooling > 0:
            self.cooling, self.bad_epochs = self.cooling - 1, 0
        if self.bad_epochs > self.patience:
            self._reduce()
            self.cooling, self.bad_epochs = self.cooldown, 0
        self._last_lr = self.values("lr")

    def _is_better(self, value: float) -> bool:
        relative, sign = self.threshold_mode == "rel", -1.0 if self.mode == "min" else 1.0
        bar = self.best * (1.0 + sign * self.threshold) if relative else self.best + sign * self.threshold
        return value < bar if self.mode == "min" else value > bar

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate
