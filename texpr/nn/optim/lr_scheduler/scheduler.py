"""Base class of schedulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError, CheckpointError
from texpr.support.suggest import KnowsArguments, suggests


@suggests({})
class LRScheduler(KnowsArguments):
    """Base of schedulers: `get_lr` gives the learning rates of all groups for `last_epoch`.

    Args:
        last_epoch: how many steps were made before, less one; -1 to begin, which makes the first
            step at once.
    Attributes:
        base_lrs: the learning rates to begin with.
        last_epoch: how many steps were made since.
    Raises:
        CallError: no optimizer, or one that has no rates to begin with where last_epoch says that
            steps were made.
    Example:
        >>> class Halved(nn.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
        >>> optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
        >>> scheduler = Halved(optimizer)
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise CallError(f"{type(self).__name__}: {optimizer!r} is no optimizer", code="arguments")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch != -1 and "initial_lr" not in group:
                raise CallError(
                    f"{type(self).__name__}: last_epoch is {last_epoch}, and no group has an initial_lr",
                    code="arguments",
                    help="load the state of the optimizer first",
                )
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs: list[float] = self.values("initial_lr")
        self.last_epoch = last_epoch
        self.begin()

    initial = False
    """True while the first step is being made, which leaves most rates as they are."""
    _count = 0

    def begin(self) -> None:
        """Make the first step."""
        self._count, self.initial = 0, True
        self.step()
        self.initial = False

    def values(self, name: str) -> list[float]:
        """An option of all groups."""
        return [group[name] for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """The learning rates for `last_epoch`, from those before."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def first_lr(self) -> list[float]:
        """The learning rates for epoch 0, from the base rates."""
        return self.get_lr()

    def get_last_lr(self) -> list[float]:
        """The learning rates that were set last."""
        return self._last_lr

    def step(self) -> None:
        """One epoch, or one batch, is done."""
        self._count += 1
        self.last_epoch += 1
        self.set_lr(self.get_lr())

    def restart(self) -> None:
        """Epoch 0 begins; another scheduler has set rates until now."""
        self.last_epoch = 0
        self.set_lr(self.first_lr())

    def set_lr(self, rates: Sequence[float]) -> None:
        """Set the learning rates of all groups."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self.values("lr")

    def state_dict(self) -> dict[str, object]:
        """All that says where the schedule is; functions and the optimizer are not part of it."""
        return {
            name: value
            for name, value in vars(self).items()
            if name != "optimizer"
            and not callable(value)
            and not (isinstance(value, list) and any(map(callable, value)))
        }

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Take the values of `state_dict`.

        Raises:
            CheckpointError: they are not those of such a scheduler.
        """
        own = self.state_dict()
        for name, value in own.items():
            groups = len(self.optimizer.param_groups)
            if name not in state_dict or not _is_like(state_dict[name], value, groups):
                found = f"is {state_dict[name]!r}" if name in state_dict else "is missing"
                raise CheckpointError(
                    f"{type(self).__name__}: `{name}` of the state {found}", code="checkpoint"
                )
        vars(self).update({name: state_dict[name] for name in own})


def _is_like(value: object, own: object, groups: int) -> bool:
    """True if a value that was saved can be in the place of another one; lists of a number per
    group have as many as there are groups.
    """
    if isinstance(own, bool) or own is None or isinstance(own, str):
        return own is None or type(value) is type(own)
    if isinstance(own, int | float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(own, list | tuple):
        if not isinstance(value, list | tuple) or (
            len(value) != len(own) and (len(own) == groups or not own)
        ):
            return isinstance(value, list | tuple) and not own
        return all(_is_like(v, own[k if len(own) == len(value) else 0], groups) for k, v in enumerate(value))
    return isinstance(value, Mapping) if isinstance(own, Mapping) else True


def per_group(owner: str, optimizer: Optimizer, name: str, value: object) -> list[float]:
    """A number for all groups, or one each."""
    if isinstance(value, list | tuple):
        if len(value) != len(optimizer.param_groups):
            raise CallError(
                f"{owner}: {name} has {len(value)} values, the optimizer {len(optimizer.param_groups)} "
                f"groups",
                code="arguments",
            )
        return list(value)
    return [value] * len(optimizer.param_groups)  # type: ignore[list-item]
