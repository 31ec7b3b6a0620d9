"""Measurements of outputs and targets beside the loss, computed from arrays on the host."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple, cast

import numpy as np

from texpr.nn import metrics
from texpr.nn.losses.loss import ignored_label
from texpr.nn.metrics.metric import Metric, State, arrays_of
from texpr.nn.training.callback_states import packed, unpacked
from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean
from texpr.support.tracebacks import forwards

MetricFunction = Callable[[np.ndarray, np.ndarray], float | tuple[float, float]]
"""Of outputs and targets of a batch: the mean over the targets that count, or a pair of a mean
and its weight beside other batches.
"""

METRICS: dict[str, Callable[[], Metric]] = {
    "accuracy": lambda: metrics.Accuracy(),
    "auc": lambda: metrics.AUC(),
    "f1": lambda: metrics.F1(),
    "mae": lambda: metrics.MAE(),
    "mse": lambda: metrics.MSE(),
    "perplexity": lambda: metrics.Perplexity(),
    "precision": lambda: metrics.Precision(),
    "r2": lambda: metrics.R2(),
    "recall": lambda: metrics.Recall(),
    "rmse": lambda: metrics.RMSE(),
}
"""Metrics by name. `top_5_accuracy` and its like are metrics too."""

_TOP = re.compile(r"top_(\d+)_accuracy")
_TAKEN = ("loss", "skipped", "lr")
"""Names of other measurements of the history."""


def named_metrics(
    wanted: Sequence[str | Metric | MetricFunction] | Mapping[str, str | Metric | MetricFunction],
    loss: object,
) -> dict[str, Metric | MetricFunction]:
    """Metrics by name; in a list, functions are called by their own names.

    Raises:
        CallError: no such metric, two of one name, or one that means nothing for this loss.
    """
    if isinstance(wanted, str):
        raise CallError(
            f"metrics is {wanted!r}, expected a list", code="arguments", help=f"write metrics=[{wanted!r}]"
        )
    found: dict[str, Metric | MetricFunction] = {}
    for given, each in wanted.items() if isinstance(wanted, Mapping) else ((None, each) for each in wanted):
        made = _made(each, loss)
        own = each if isinstance(each, str) else getattr(each, "name", "")
        name = given or own or getattr(each, "__name__", type(each).__name__)
        if name in (*found, *_TAKEN):
            raise CallError(
                f"two measurements are called {name!r}",
                code="arguments",
                help="give one another name: metrics={'another': ...}",
            )
        found[name] = made
    return found


def _made(given: object, loss: object) -> Metric | MetricFunction:
    """A metric that reads outputs and targets as the loss does; a function as it is."""
    if isinstance(given, str):
        given = _by_name(given)
    if isinstance(given, type) or not callable(given):
        name = getattr(given, "__name__", repr(given))
        raise CallError(
            f"a metric is {given!r}, expected a name, a metric, or a function of outputs and targets",
            code="arguments",
            help=f"make one: {name}()" if isinstance(given, type) else "",
        )
    if not isinstance(given, Metric):
        return cast(MetricFunction, given)
    if not given.is_number:
        raise CallError(
            f"the metric `{given.name}` is an array, which no history holds",
            code="metric",
            help="call it on arrays: metric(trainer.predict(x), y)",
        )
    return given.of(loss)


def _by_name(name: str) -> Metric:
    top = _TOP.fullmatch(name)
    if top is not None:
        return metrics.Accuracy(int(top[1]))
    if name == "confusion_matrix":
        return metrics.ConfusionMatrix()
    if name not in METRICS:
        raise CallError(f"there is no metric {name!r}", code="arguments", help=did_you_mean(name, METRICS))
    return METRICS[name]()


def counted_targets(targets: np.ndarray, loss: object) -> int:
    """Number of targets of a batch that count: all but ignored labels."""
    ignored = ignored_label(loss)
    return (
        targets.size
        if ignored is None or targets.dtype.kind not in "iu"
        else int(np.count_nonzero(targets != ignored))
    )


class Measured(NamedTuple):
    """A batch as metrics see it: states of metrics, and values of functions with their weights."""

    states: dict[str, State]
    means: dict[str, tuple[float, float]]


@forwards
def measure(
    metrics: Mapping[str, Metric | MetricFunction], outputs: np.ndarray, targets: np.ndarray, loss: object
) -> Measured:
    """All metrics of a batch.

    Args:
        loss: says which targets count: their number is the weight of functions that do not say
            theirs.
    Raises:
        CallError: one gives no number.
    """
    states, means = {}, {}
    for name, metric in metrics.items():
        if isinstance(metric, Metric):
            states[name] = metric.measure(outputs, targets)
            continue
        value = metric(outputs, targets)
        if not (isinstance(value, tuple) and len(value) == 2):
            value = value, counted_targets(targets, loss)
        means[name] = _number(name, value[0]), _number(name, value[1])
    return Measured(states, means)


def _number(name: str, value: object) -> float:
    if np.ndim(value) or not isinstance(value, int | float | np.number | np.ndarray):  # type: ignore[arg-type]
        raise CallError(
            f"the metric `{name}` gives a {type(value).__name__}, expected a number",
            code="metric",
            help="average it: float(np.mean(...))",
        )
    return float(value)


class Averages:
    """Means over batches, each with a weight."""

    def __init__(self) -> None:
        self._totals: dict[str, tuple[float, float]] = {}

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


class Measurements:
    """Loss and metrics over some batches.

    Attributes:
        averages: of the loss and of functions.
    """

    def __init__(self, averages: Averages | None = None, states: Mapping[str, State] | None = None) -> None:
        self.averages = Averages() if averages is None else averages
        self._states = dict(states or {})

    def take(
        self, metrics: Mapping[str, Any], is_sum: bool, loss: float, weight: float, batch: Measured
    ) -> None:
        """Take in a batch with its loss.

        Args:
            is_sum: the loss of several batches is the sum of theirs.
            weight: of the batch beside others.
        """
        if is_sum:
            self.averages.add_sum("loss", loss)
        else:
            self.averages.add("loss", loss, weight)
        self.add(metrics, batch)

    def add(self, metrics: Mapping[str, Any], batch: Measured) -> None:
        """Take in a batch."""
        for name, (value, weight) in batch.means.items():
            self.averages.add(name, value, weight)
        for name, state in batch.states.items():
            known = self._states.get(name)
            self._states[name] = state if known is None else metrics[name].merged(known, state)

    def values(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """The loss and all metrics; NaN where nothing was measured."""
        means = self.averages.means()
        found = {name: means.get(name, nan) for name in ("loss", *metrics)}
        for name, state in self._states.items():
            if name in metrics:
                found[name] = _number(name, metrics[name].value(state))
        return found

    def state_dict(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Measurements so far, as JSON has them; arrays are added to `arrays`."""
        states = {name: arrays_of(state) for name, state in self._states.items()}
        return {"averages": self.averages.state_dict(), "metrics": packed(states, "metrics", arrays)}

    @staticmethod
    def of(state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Measurements:
        """The measurements of a `state_dict`.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        states = unpacked(state.get("metrics", {}), arrays)
        if not all(isinstance(s, dict) for s in states.values()):
            raise ValueError("a metric's state is no arrays by name")
        return Measurements(Averages.of(state["averages"]), states)
