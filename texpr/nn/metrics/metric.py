"""Base class of metrics: the state of a batch, the sum of states, and the number of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np

from texpr.nn.metrics.predictions import Predictions
from texpr.support.suggest import KnowsArguments, suggests

State = dict[str, Any]
"""Arrays by name, or tuples of arrays: one for each batch."""


@suggests({})
class Metric(KnowsArguments):
    """Base of metrics that are numbers of a whole epoch rather than means over batches.

    A metric of one's own defines `measure`, the state of a batch, and `value`, the number of a
    state. States are dicts of arrays; those of two batches are added, unless `merged` says
    otherwise. Called on outputs and targets, a metric gives its value for them.

    Attributes:
        name: in the history, unless the trainer's `metrics` says another one.
        is_number: False for a metric that gives an array, which no history holds.
        predictions: how outputs and targets are read, as the trainer's loss has them.
    Raises: nothing of its own.
    Example:
        >>> class Bias(nn.Metric):
        ...     def measure(self, outputs, targets):
        ...         return {"sum": np.sum(outputs - targets), "count": targets.size}
        ...
        ...     def value(self, state):
        ...         return state["sum"] / state["count"]
        >>> float(Bias()(np.array([1.0, 2.0]), np.array([1.0, 1.0])))
        0.5
    """

    name = ""
    is_number = True
    predictions = Predictions()

    def of(self, loss: object) -> Self:
        """This metric, reading outputs and targets as a loss does.

        Raises:
            CallError: the metric means nothing for such a loss.
        """
        made = copy(self)
        made.predictions = Predictions(loss)
        return made

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        """The state of a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no measure")

    def merged(self, state: State, other: State) -> State:
        """The state of two sets of examples; tuples are joined, everything else is added."""
        return {name: state[name] + other[name] for name in state}

    def value(self, state: State) -> Any:
        """The metric of a state."""
        raise NotImplementedError(f"{type(self).__name__} has no value")

    def __call__(self, outputs: Any, targets: Any) -> Any:
        return self.value(self.measure(np.asarray(outputs), np.asarray(targets)))


class WholeEpoch(Metric):
    """Function of all outputs and targets of an epoch, called once at its end.

    Plain functions are called for each batch, and their numbers are averaged. Functions that are no
    means over examples, such as those of `sklearn.metrics`, want this. It keeps the outputs of the
    epoch.

    Args:
        function: of the outputs and targets, arrays of all examples; gives a number.
    Raises: nothing of its own.
    Example:
        >>> spread = nn.metrics.WholeEpoch(lambda outputs, targets: np.ptp(outputs))
        >>> float(spread(np.array([1.0, 4.0]), np.array([1.0, 1.0])))
        3.0
    """

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], float]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        return {"outputs": (np.array(outputs),), "targets": (np.array(targets),)}

    def value(self, state: State) -> float:
        return self.function(np.concatenate(state["outputs"]), np.concatenate(state["targets"]))


def arrays_of(state: Mapping[str, Any]) -> State:
    """A state as files hold it: tuples of arrays become one array, numbers arrays of rank 0."""
    return {n: (np.concatenate(v),) if isinstance(v, tuple) else np.asarray(v) for n, v in state.items()}
