"""Rates and momenta that rise and fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, floor, pi

from texpr.nn.core.argument_checks import number, whole
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler, per_group
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError


class _WithMomentum(LRScheduler):
    """Cycles the momentum, or beta1, against the rate."""

    def _begin_momentum(self, optimizer: Optimizer, base: object, most: object, last_epoch: int) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise CallError(
                f"{type(self).__name__}: {type(optimizer).__name__} has neither momentum nor betas",
                code="arguments",
                help="cycle_momentum=False leaves them alone",
            )
        self.base_momentums = per_group(type(self).__name__, optimizer, "base_momentum", base)
        self.max_momentums = per_group(type(self).__name__, optimizer, "max_momentum", most)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                group.update(max_momentum=high, base_momentum=low)
            _set_momentum(optimizer, self.max_momentums)


def _set_momentum(optimizer: Optimizer, values: Sequence[float]) -> None:
    for group, value in zip(optimizer.param_groups, values, strict=True):
        group.update({"betas": (value, *group["betas"][1:])} if "betas" in group else {"momentum": value})


class CyclicLR(_WithMomentum):
    """Cycles: from `base_lr` up to `max_lr` in `step_size_up` steps and down again in
    `step_size_down`; the momentum goes the other way.

    Smith, Cyclical Learning Rates for Training Neural Networks, 2017.

    Args:
        optimizer: whose learning rates are set.
        base_lr, max_lr: the ends, for all groups or for each.
        step_size_up, step_size_down: steps of each half; equal unless given.
        mode: "triangular"; "triangular2", half the height in each cycle; "exp_range", times
            `gamma^step`.
        scale_fn, scale_mode: a function of the height's factor, of the cycle or the step
            (`iterations`).
        cycle_momentum, base_momentum, max_momentum: the momentum, against the rate.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or an unknown mode, or an optimizer without a momentum where it
            cycles.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, step_size_up=2, cycle_momentum=False)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [0.1, 0.55, 1.0, 0.55]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        base_lrs = per_group("CyclicLR", optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs):
                group["lr"] = rate
        self.max_lrs = per_group("CyclicLR", optimizer, "max_lr", max_lr)
        up = float(whole("CyclicLR", "step_size_up", step_size_up))
        down = up if step_size_down is None else float(whole("CyclicLR", "step_size_down", step_size_down))
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise CallError(
                f"CyclicLR: mode is {mode!r}, expected triangular, triangular2 or exp_range", code="arguments"
            )
        self.mode, self.gamma, self.scale_fn = mode, number("CyclicLR", "gamma", gamma), scale_fn
        self.scale_mode = (
            scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        )
        self.cycle_momentum = bool(cycle_momentum)
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def get_lr(self) -> list[float]:
        cycle = floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            sides = zip(self.base_momentums, self.max_momentums)
            _set_momentum(self.optimizer, [high - (high - low) * height * scale for low, high in sides])
        return [
            low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def _scale(self, x: float) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1), "exp_range": self.gamma**x}[self.mode]


class OneCycleLR(_WithMomentum):
    """One cycle: from `max_lr / div_factor` up to `max_lr`, then down by `final_div_factor`; the
    momentum goes the other way.

    Smith and Topin, Super-Convergence, 2018.

    Args:
        optimizer: whose learning rates are set.
        max_lr: the top, for all groups or for each.
        total_steps: of batches; or `epochs` times `steps_per_epoch`.
        pct_start: the share of the steps that go up.
        anneal_strategy: along a cosine ("cos"), or "linear".
        cycle_momentum, base_momentum, max_momentum: the momentum, against the rate.
        div_factor, final_div_factor: the first rate and the last one, as divisors.
        three_phase: down as fast as up, and then to nearly nothing.
        last_epoch: steps made before, less 1; -1 to begin.
    Raises:
        CallError: no optimizer, or a step behind the last one, an unknown strategy, or an optimizer
            without a momentum where it cycles.
    Example:
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = nn.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=4, cycle_momentum=False)
        >>> rates = []
        >>> for epoch in range(3):
        ...     rates.append(round(optimizer.lr, 4))
        ...     scheduler.step()
        >>> rates
        [0.04, 0.8117, 0.2831]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if anneal_strategy not in ("cos", "linear"):
            raise CallError(
                f"OneCycleLR: anneal_strategy is {anneal_strategy!r}, expected cos or linear",
                code="arguments",
            )
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, bool(cycle_momentum)
        self.phases = _phases(
            number("OneCycleLR", "pct_start", pct_start, 0.0, 1.0 + 1e-12), self.total_steps, three_phase
        )
        if last_epoch == -1:
            for group, most in zip(
                optimizer.param_groups, per_group("OneCycleLR", optimizer, "max_lr", max_lr)
            ):
                group.update(initial_lr=most / div_factor, max_lr=most)
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise CallError(
                f"OneCycleLR: step {self.last_epoch} of {self.total_steps}",
                code="arguments",
                help="give it more total_steps",
            )
        begins = [0.0, *(phase[0] for phase in self.phases[:-1])]
        last = len(self.phases) - 1
        begin, phase = next(
            (b, p)
            for k, (b, p) in enumerate(zip(begins, self.phases))
            if self.last_epoch <= p[0] or k == last
        )
        end, *names = phase
        done = (self.last_epoch - begin) / (end - begin)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            _set_momentum(self.optimizer, [self._between(g[names[2]], g[names[3]], done) for g in groups])
        return [self._between(g[names[0]], g[names[1]], done) for g in groups]

    def _between(self, start: float, end: float, done: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (cos(pi * done) + 1)


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        return whole("OneCycleLR", "total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise CallError(
            "OneCycleLR: neither total_steps nor epochs and steps_per_epoch are given", code="arguments"
        )
    return whole("OneCycleLR", "epochs", epochs) * whole("OneCycleLR", "steps_per_epoch", steps_per_epoch)


def _phases(share: float, total: int, three: bool) -> list[tuple[float, str, str, str, str]]:
    """The last step of each phase, and the options of a group that rate and momentum go from and
    to.
    """
    up = (float(share * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [up, (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [
        up,
        (float(2 * share * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
