"""The base of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isnan
from typing import Any

from texpr.nn.core.argument_checks import one_of
from texpr.nn.training.protocol import TrainerLike
from texpr.support.errors import CallError
from texpr.support.suggest import KnowsArguments, suggests
from texpr.support.tracebacks import forwards

Listener = Callable[[TrainerLike, int, Mapping[str, float]], object]
"""Called after each epoch with the trainer, the epoch (from 0) and what was measured; True ends
the training.
"""


@suggests({})
class Callback(KnowsArguments):
    """Base of callbacks: an object that hears the events of `fit`. Every method may be left as it
    is.

    An exception of a callback ends the training, whose steps so far stay made.

    Attributes:
        saves: True if it is called after all others, whose states it saves.
        every_rank: True if it is called on every rank of `Trainer(comm=)`, not on the first alone:
            where it changes the model. A function may have this attribute, too.
    Raises: nothing of its own.
    Example:
        >>> class Counting(nn.callbacks.Callback):
        ...     updates = 0
        ...
        ...     def on_step_end(self, trainer, step, values):
        ...         self.updates = step
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> counting = Counting()
        >>> history = trainer.fit(x, y, epochs=2, batch_size=4, progress=False, callbacks=[counting])
        >>> counting.updates
        4
    """

    saves = every_rank = False

    def on_train_begin(self, trainer: TrainerLike) -> None:
        """`fit` begins."""

    def on_step_end(self, trainer: TrainerLike, step: int, values: Mapping[str, float]) -> None:
        """An update was made: `step` counts them in this fit from 1; `values` has the loss of the
        batch. Updates that are left out, since their loss is NaN or their gradients overflow f16,
        are not heard of.
        """

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> bool | None:
        """An epoch (from 0) is done, with these means; True ends the training."""

    def on_train_end(self, trainer: TrainerLike) -> None:
        """`fit` ends, also where something was raised."""

    def key(self) -> str:
        """The name of the state in a file: of callbacks with one name, the first gets the first
        state that was saved.
        """
        return type(self).__name__

    def state_dict(self) -> dict[str, Any]:
        """The state that a training needs to go on: numbers, texts, arrays, and lists, tuples
        and dicts of them.
        """
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from the state of another one."""


class _Function(Callback):
    """A function that is called after each epoch; an object that can be called may have a state,
    as callbacks do.
    """

    def __init__(self, function: Listener) -> None:
        self._function, self.every_rank = function, bool(getattr(function, "every_rank", False))

    @forwards
    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> bool | None:
        return self._function(trainer, epoch, values) is True

    def key(self) -> str:
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    def state_dict(self) -> dict[str, Any]:
        return self._function.state_dict() if hasattr(self._function, "load_state_dict") else {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._function.load_state_dict(state_dict)  # type: ignore[attr-defined]


def as_callback(given: object) -> Callback:
    """Callback of a function `f(trainer, epoch, values)`, which is called after each epoch; a
    callback as it is.

    Raises:
        CallError: it is neither.
    Example:
        >>> isinstance(nn.callbacks.as_callback(lambda trainer, epoch, values: None), nn.callbacks.Callback)
        True
    """
    if isinstance(given, Callback):
        return given
    if isinstance(given, type) or not callable(given):
        raise CallError(
            f"a callback is {given!r}, expected a function of the trainer, the epoch and the measurements, "
            f"or an nn.Callback",
            code="arguments",
            help=f"make one: {given.__name__}(...)" if isinstance(given, type) else "",
        )
    return _Function(given)


def measured(owner: object, monitor: str, values: Mapping[str, float]) -> float:
    """The value that a callback monitors.

    Raises:
        CallError: it is not measured.
    """
    if monitor not in values:
        name = type(owner).__name__
        raise CallError(
            f"{name}: `{monitor}` is not measured", code="arguments", help=f"measured are {', '.join(values)}"
        )
    return values[monitor]


class Best:
    """The best value of a measurement so far; NaN is never better."""

    def __init__(self, owner: str, mode: str, min_delta: float = 0.0) -> None:
        self.mode, self.min_delta = one_of(owner, "mode", mode, ("min", "max")), float(min_delta)
        self.value = inf

    def improves(self, value: float) -> bool:
        """True if a value is better than all before by more than `min_delta`; it is the best one
        then.
        """
        least = value if self.mode == "min" else -value
        better = not isnan(least) and least < self.value - (self.min_delta if self.value != inf else 0.0)
        if better:
            self.value = least
        return better

    def load(self, value: object) -> None:
        """Go on from a best value.

        Raises:
            ValueError: it is no number.
        """
        if type(value) not in (int, float):
            raise ValueError(f"the best value is {value!r}")
        self.value = float(value)  # type: ignore[arg-type]
