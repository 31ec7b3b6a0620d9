"""Rates that fall along half a cosine."""

from __future__ import annotations

from math import cos, pi

from texpr.nn.core.argument_checks import number, whole
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler
from texpr.nn.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Cosine annealing: `eta_min + (base - eta_min) (1 + cos(pi epoch / T_max)) / 2`.

    Loshchilov and Hutter, SGDR, 2017.

    Args:
        optimizer: whose learning rates are set.
        T_max: epochs of half a cosine.
        eta_min: the least rate.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = (
            whole("CosineAnnealingLR", "T_max", T_max),
            number("CosineAnnealingLR", "eta_min", eta_min),
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.initial:
            return self.values("lr")
        if self._count == 1 and self.last_epoch > 0:
            return [
                self.eta_min + (base - self.eta_min) * (1 + cos(self.last_epoch * pi / self.T_max)) / 2
                for base in self.base_lrs
            ]
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [
                rate + (base - self.eta_min) * (1 - cos(pi / self.T_max)) / 2
                for base, rate in zip(self.base_lrs, self.values("lr"))
            ]
        now, before = (1 + cos(pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return [self.eta_min + (base - self.eta_min) * (1 + cos(0)) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with restarts: down to `eta_min` in `T_0` epochs, then again in `T_mult`
    times as many, and so on.

    Loshchilov and Hutter, SGDR, 2017.

    Args:
        optimizer: whose learning rates are set.
        T_0: epochs of the first half cosine.
        T_mult: the factor of that number at each restart.
        eta_min: the least rate.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        owner = "CosineAnnealingWarmRestarts"
        self.T_0, self.T_mult, self.eta_min = (
            whole(owner, "T_0", T_0),
            whole(owner, "T_mult", T_mult),
            number(owner, "eta_min", eta_min),
        )
        self.T_i, self.T_cur = self.T_0, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [
            self.eta_min + (base - self.eta_min) * (1 + cos(pi * self.T_cur / self.T_i)) / 2
            for base in self.base_lrs
        ]

    def step(self) -> None:
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        super().step()

    def restart(self) -> None:
        self.T_cur, self.T_i = 0, self.T_0
        super().restart()
