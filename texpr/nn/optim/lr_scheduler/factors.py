"""Rates that are multiplied from step to step."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from texpr.nn.core.argument_checks import number, share, whole
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The base rate times lr_lambda(epoch); one function, or one per group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        self.lr_lambdas = _functions(self, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [
            rate * factor(self.last_epoch)
            for factor, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(LRScheduler):
    """The rate before times lr_lambda(epoch); one function, or one per group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        self.lr_lambdas = _functions(self, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.initial:
            return self.values("lr")
        return [
            rate * factor(self.last_epoch)
            for factor, rate in zip(self.lr_lambdas, self.values("lr"), strict=True)
        ]


class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = whole("StepLR", "step_size", step_size), number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.values("lr")
        return [rate * self.gamma for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return self.base_lrs


class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch not in self.milestones:
            return self.values("lr")
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return [
            rate * self.gamma ** bisect_right(sorted(self.milestones.elements()), 0) for rate in self.base_lrs
        ]

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        super().load_state_dict(state_dict)
        self.milestones = Counter({int(k): n for k, n in self.milestones.items()})  # JSON has texts for keys


class ConstantLR(LRScheduler):
    """The rate times factor until total_iters epochs are done."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.factor, self.total_iters = (
            share("ConstantLR", "factor", factor),
            whole("ConstantLR", "total_iters", total_iters, 0),
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self.values("lr")]
        if self.last_epoch != self.total_iters:
            return self.values("lr")
        return [rate * (1.0 / self.factor) for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return [rate * (self.factor + (self.total_iters <= 0) * (1 - self.factor)) for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor of the rate that goes from start_factor to end_factor in total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor = (
            share("LinearLR", "start_factor", start_factor),
            share("LinearLR", "end_factor", end_factor),
        )
        if self.start_factor == 0:
            raise CallError("LinearLR: start_factor is 0, expected a number above 0", code="arguments")
        self.total_iters = whole("LinearLR", "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self.values("lr")]
        if self.initial or self.last_epoch > self.total_iters:
            return self.values("lr")
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return [rate * (1.0 + change / before) for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return [
            rate * (self.start_factor + (self.end_factor - self.start_factor) * 0 / self.total_iters)
            for rate in self.base_lrs
        ]


class ExponentialLR(LRScheduler):
    """The rate times gamma in every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self.values("lr") if self.initial else [rate * self.gamma for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return self.base_lrs


class PolynomialLR(LRScheduler):
    """The base rate times (1 - epoch / total_iters)^power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = (
            whole("PolynomialLR", "total_iters", total_iters),
            number("PolynomialLR", "power", power),
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.initial or self.last_epoch > self.total_iters:
            return self.values("lr")
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return [rate * (now / before) ** self.power for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return self.base_lrs


def _functions(
    scheduler: LRScheduler, optimizer: Optimizer, given: Factor | Sequence[Factor]
) -> list[Factor]:
    functions = list(given) if isinstance(given, list | tuple) else [given] * len(optimizer.param_groups)
    if len(functions) != len(optimizer.param_groups) or not all(map(callable, functions)):
        raise CallError(
            f"{type(scheduler).__name__}: lr_lambda is {given!r}, expected a function, or one per group",
            code="arguments",
        )
    return functions  # type: ignore[return-value]
