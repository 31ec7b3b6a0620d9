"""Rates that fall along half a cosine."""

from __future__ import annotations

from math import cos, pi

from texpr.nn.core.argument_checks import number, whole
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler
from texpr.nn.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """From the base rate to eta_min in T_max epochs, along half a cosine, and back. Loshchilov
    and Hutter, SGDR, 2017.
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
    """From the base rate to eta_min in T_0 epochs, then again in T_mult times as many, and so
    on. Loshchilov and Hutter, SGDR, 2017.
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
