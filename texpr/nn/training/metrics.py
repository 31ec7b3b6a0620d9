"""Numbers that say how good outputs are, computed from arrays on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from texpr.nn.training.accuracy import Accuracy
from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean

Metric = Callable[[np.ndarray, np.ndarray], float | tuple[float, float]]
"""Of outputs and targets of a batch: the mean over the targets that count, or a pair of a mean
and its weight beside other batches.
"""

METRICS: dict[str, Callable[[object], Metric]] = {"accuracy": Accuracy}
"""Metrics by name, made for a loss."""


def named_metrics(
    wanted: Sequence[str | Metric] | Mapping[str, str | Metric], loss: object
) -> dict[str, Metric]:
    """Metrics by name; in a list, functions are called by their own names.

    Raises:
        CallError: no such metric, or two of one name.
    """
    if isinstance(wanted, str):
        raise CallError(
            f"metrics is {wanted!r}, expected a list", code="arguments", help=f"write metrics=[{wanted!r}]"
        )
    found: dict[str, Metric] = {}
    for given, each in wanted.items() if isinstance(wanted, Mapping) else ((None, each) for each in wanted):
        if isinstance(each, str) and each not in METRICS:
            raise CallError(
                f"there is no metric {each!r}", code="arguments", help=did_you_mean(each, METRICS)
            )
        name = (
            given
            if given is not None
            else each
            if isinstance(each, str)
            else getattr(each, "__name__", type(each).__name__)
        )
        if name in (*found, "loss", "skipped"):
            raise CallError(
                f"two measurements are called {name!r}", code="arguments", help="give one another __name__"
            )
        found[name] = METRICS[each](loss) if isinstance(each, str) else each
    return found


def counted_targets(targets: np.ndarray, loss: object) -> int:
    """Number of targets of a batch that count: all but ignored labels."""
    ignored = getattr(loss, "ignore_index", None) if getattr(loss, "labels", False) else None
    return (
        targets.size
        if ignored is None or targets.dtype.kind not in "iu"
        else int(np.count_nonzero(targets != ignored))
    )


def measure(
    metrics: Mapping[str, Metric], outputs: np.ndarray, targets: np.ndarray, count: int
) -> dict[str, tuple[float, float]]:
    """All metrics of a batch, with their weights beside other batches.

    Args:
        count: the weight of metrics that do not say theirs.
    Raises:
        CallError: one gives no number.
    """
    found = {name: metric(outputs, targets) for name, metric in metrics.items()}
    pairs = {
        name: value if isinstance(value, tuple) and len(value) == 2 else (value, count)
        for name, value in found.items()
    }
    for name, pair in pairs.items():
        for value in pair:
            if np.ndim(value) or not isinstance(value, int | float | np.number | np.ndarray):
                raise CallError(
                    f"the metric `{name}` gives a {type(value).__name__}, expected a number",
                    code="metric",
                    help="average it: float(np.mean(...))",
                )
    return {name: (float(value), float(weight)) for name, (value, weight) in pairs.items()}


class Averages:
    """Means over batches, each with a weight. The mean of nothing is NaN.

    Args:
        names: of the measurements, in their order.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._totals: dict[str, tuple[float, float]] = dict.fromkeys(names, (0.0, 0.0))

    def add(self, name: str, value: float, weight: float) -> None:
        """Take in a batch. One of weight 0 counts for nothing, also where its value is NaN."""
        if weight:
            total, count = self._totals.get(name, (0.0, 0.0))
            self._totals[name] = total + value * weight, count + weight

    def add_sum(self, name: str, value: float) -> None:
        """Take in a batch of a measurement that is a sum: the mean is the sum over all batches."""
        self._totals[name] = self._totals.get(name, (0.0, 0.0))[0] + value, 1.0

    def state_dict(self) -> dict[str, list[float]]:
        """The totals and weights so far, as JSON has them."""
        return {name: list(pair) for name, pair in self._totals.items()}

    @staticmethod
    def of(state: Mapping[str, Any]) -> Averages:
        """The averages of a `state_dict`.

        Raises:
            ValueError: it is none.
        """
        made = Averages()
        for name, pair in state.items():
            if not isinstance(pair, list) or len(pair) != 2 or not all(type(v) in (int, float) for v in pair):
                raise ValueError(f"the average `{name}` is {pair!r}")
            made._totals[name] = float(pair[0]), float(pair[1])
        return made

    def means(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / weight if weight else nan for name, (total, weight) in self._totals.items()}
