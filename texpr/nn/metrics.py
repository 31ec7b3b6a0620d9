"""Numbers that say how good outputs are, computed from arrays on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean

Metric = Callable[[np.ndarray, np.ndarray], float]
"""Of outputs and targets of a batch; the mean over its examples."""


def accuracy(outputs: np.ndarray, targets: np.ndarray) -> float:
    """The share of examples whose largest output is that of the target class; the first of equal ones counts."""
    return float(np.mean(np.argmax(outputs, axis=-1) == targets))


METRICS: dict[str, Metric] = {"accuracy": accuracy}


def named_metrics(wanted: Sequence[str | Metric]) -> dict[str, Metric]:
    """Metrics by name; functions are called by their own names.

    Raises:
        CallError: no such metric.
    """
    if isinstance(wanted, str):
        raise CallError(f"metrics is {wanted!r}, expected a list", code="arguments", help=f"write metrics=[{wanted!r}]")
    found: dict[str, Metric] = {}
    for each in wanted:
        if isinstance(each, str) and each not in METRICS:
            raise CallError(f"there is no metric {each!r}", code="arguments", help=did_you_mean(each, METRICS))
        found[each if isinstance(each, str) else each.__name__] = METRICS[each] if isinstance(each, str) else each
    return found


def measure(metrics: Mapping[str, Metric], outputs: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    """All metrics of a batch.

    Raises:
        CallError: one gives no number.
    """
    found = {name: metric(outputs, targets) for name, metric in metrics.items()}
    for name, value in found.items():
        if np.ndim(value) or not isinstance(value, int | float | np.number | np.ndarray):
            raise CallError(f"the metric `{name}` gives a {type(value).__name__}, expected a number", code="metric",
                            help="average it: float(np.mean(...))")
    return {name: float(value) for name, value in found.items()}


class Averages:
    """Means over batches, weighted by their numbers of examples."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._count = 0

    def add(self, values: dict[str, float], count: int) -> None:
        """Take in a batch of `count` examples."""
        self._count += count
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value * count

    def state_dict(self) -> dict[str, Any]:
        """The sums so far, as JSON has them."""
        return {"sums": dict(self._sums), "count": self._count}

    @staticmethod
    def of(state: Mapping[str, Any]) -> Averages:
        """The averages of a `state_dict`."""
        made = Averages()
        made._sums, made._count = {str(n): float(v) for n, v in state["sums"].items()}, int(state["count"])
        return made

    def means(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / self._count for name, total in self._sums.items()}
