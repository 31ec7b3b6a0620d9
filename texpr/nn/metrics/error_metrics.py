"""Metrics of numbers: how far outputs are from targets."""

from __future__ import annotations

from math import nan
from typing import Self

import numpy as np

from texpr.nn.metrics.metric import Metric, State
from texpr.nn.metrics.predictions import refused
from texpr.support.errors import CallError


class _OfDifferences(Metric):
    """Base of metrics of differences. Places beyond axis 0 are outputs of their own, whose metrics
    are averaged.
    """

    def of(self, loss: object) -> Self:
        made = super().of(loss)
        what = (
            "class numbers"
            if made.predictions.has_labels
            else "yes and no, and its outputs are logits"
            if made.predictions.threshold == 0.0
            else ""
        )
        if what:
            raise CallError(
                f"{self.name}: the targets of {type(loss).__name__} are {what}",
                code="metric",
                help="metrics=['accuracy', 'f1'] are of classes",
            )
        return made

    def pair(self, outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and targets as (examples, places), f64."""
        if outputs.shape != targets.shape:
            reason = "they have one shape for a metric of differences"
            raise refused(self.name, outputs, targets, reason, "reshape the targets: y[:, None] or y[:, 0]")
        rows = (len(outputs), -1) if outputs.ndim > 1 and outputs.size else (outputs.size, 1)
        return outputs.astype(np.float64).reshape(rows), targets.astype(np.float64).reshape(rows)

    def errors(self, difference: np.ndarray) -> np.ndarray:
        """The error of each difference."""
        return difference**2

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        given, wanted = self.pair(outputs, targets)
        return {"total": self.errors(given - wanted).sum(0), "count": len(given)}

    def means(self, state: State) -> np.ndarray:
        """The mean error of each place."""
        return state["total"] / state["count"] if state["count"] else np.array(nan)

    def value(self, state: State) -> float:
        return float(self.means(state).mean())


class MAE(_OfDifferences):
    """Mean absolute error: the mean of `|output - target|`.

    Raises:
        CallError: shapes differ, or targets of the loss are classes.
    Example:
        >>> nn.metrics.MAE()(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        1.0
    """

    name = "mae"

    def errors(self, difference: np.ndarray) -> np.ndarray:
        return np.abs(difference)


class MSE(_OfDifferences):
    """Mean squared error: the mean of `(output - target)^2`.

    Raises:
        CallError: shapes differ, or targets of the loss are classes.
    Example:
        >>> nn.metrics.MSE()(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        2.0
    """

    name = "mse"


class RMSE(_OfDifferences):
    """Root of the mean squared error; the mean of the roots of several outputs.

    Raises:
        CallError: shapes differ, or targets of the loss are classes.
    Example:
        >>> nn.metrics.RMSE()(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        2.0
    """

    name = "rmse"

    def value(self, state: State) -> float:
        return float(np.sqrt(self.means(state)).mean())


class R2(_OfDifferences):
    """Coefficient of determination: `1 - sum (target - output)^2 / sum (target - mean target)^2`;
    the mean of several outputs.

    Targets that are all equal make it 1 where the outputs are right, else 0, as in
    `sklearn.metrics`; it is NaN of fewer than two examples.

    Raises:
        CallError: shapes differ, or targets of the loss are classes.
    Example:
        >>> nn.metrics.R2()(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
        0.7857142857142857
    """

    name = "r2"

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        given, wanted = self.pair(outputs, targets)
        mean = wanted.mean(0) if len(wanted) else np.zeros(wanted.shape[1])
        return {
            "total": ((wanted - given) ** 2).sum(0),
            "count": len(given),
            "mean": mean,
            "spread": ((wanted - mean) ** 2).sum(0),
        }

    def merged(self, state: State, other: State) -> State:
        """Chan, Golub and LeVeque, Updating Formulae for Computing Sample Variances, 1979."""
        count = state["count"] + other["count"]
        apart, share = other["mean"] - state["mean"], other["count"] / max(count, 1)
        return {
            "total": state["total"] + other["total"],
            "count": count,
            "mean": state["mean"] + apart * share,
            "spread": state["spread"] + other["spread"] + apart**2 * state["count"] * share,
        }

    def value(self, state: State) -> float:
        if state["count"] < 2:
            return nan
        total, spread = state["total"], state["spread"]
        each = 1 - np.divide(total, spread, out=np.where(total == 0, 0.0, 1.0), where=spread != 0)
        return float(each.mean())
