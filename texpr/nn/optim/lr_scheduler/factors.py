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
    """Factor by a function: the base rate times `lr_lambda(epoch)`.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: a function of the epoch, or one per group.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or `lr_lambda` is neither a function nor one per group.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1))
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.3333, 0.25]
    """

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
    """Product of factors: the rate before times `lr_lambda(epoch)`.

    Args:
        optimizer: whose learning rates are set.
        lr_lambda: a function of the epoch, or one per group.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or `lr_lambda` is neither a function nor one per group.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

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
    """Steps: the rate times `gamma` every `step_size` epochs.

    Args:
        optimizer: whose learning rates are set.
        step_size: epochs between two changes.
        gamma: the factor.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 1.0, 0.1, 0.1]
    """

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
    """Steps at milestones: the rate times `gamma` at each of them.

    Args:
        optimizer: whose learning rates are set.
        milestones: epochs.
        gamma: the factor.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.1, 0.1, 0.01]
    """

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
    """Constant factor at first: the rate times `factor` until `total_iters` epochs are done.

    Args:
        optimizer: whose learning rates are set.
        factor: from 0 to 1.
        total_iters: epochs.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

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
    """Linear factor of the rate: from `start_factor` to `end_factor` in `total_iters` epochs.

    Args:
        optimizer: whose learning rates are set.
        start_factor, end_factor: from 0 to 1, the first above 0.
        total_iters: epochs.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [0.5, 0.75, 1.0, 1.0]
    """

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
    """Exponential decay: the rate times `gamma` in every epoch.

    Args:
        optimizer: whose learning rates are set.
        gamma: the factor.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self.values("lr") if self.initial else [rate * self.gamma for rate in self.values("lr")]

    def first_lr(self) -> list[float]:
        return self.base_lrs


class PolynomialLR(LRScheduler):
    """Polynomial decay: the base rate times `(1 - epoch / total_iters)^power`, and 0 afterwards.

    Args:
        optimizer: whose learning rates are set.
        total_iters: epochs until 0.
        power: the exponent.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an option out of its range.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5625, 0.25, 0.0625]
    """

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
