"""Metrics of decisions: answers that are right or wrong."""

from __future__ import annotations

from math import nan
from typing import Any, Self

import numpy as np

from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.metrics.metric import Metric, State
from texpr.nn.metrics.predictions import Predictions, Reading, refused

_AVERAGES = ("binary", "macro", "micro", "weighted", "none")


class _OfDecisions(Metric):
    """Base of metrics of decisions.

    Args:
        threshold: the output above which the answer is yes, where the loss does not say it.
    """

    threshold: float | None = None

    def of(self, loss: object) -> Self:
        made = super().of(loss)
        made.predictions = Predictions(loss, self.threshold)
        return made

    def _at(self, threshold: float | None) -> None:
        self.threshold = (
            None if threshold is None else number(type(self).__name__, "threshold", threshold, -1e300)
        )
        self.predictions = Predictions(threshold=self.threshold)


class Accuracy(_OfDecisions):
    """Share of right answers: of the class with the largest output, or of yes and no.

    The first of equal outputs counts. With `top_k`, a target among the k largest outputs is right;
    of equal outputs those of the higher classes count then, as in `sklearn.metrics`. Of several
    labels each counts by itself. Ignored labels do not count.

    Args:
        top_k: how many of the largest outputs may be the target's.
        threshold: the output above which the answer is yes; the loss's unless given.
    Raises:
        CallError: an argument out of its range; outputs and targets do not fit, or it is open what
            they mean; `top_k` is not below the number of classes, which is always right.
    Example:
        >>> nn.metrics.Accuracy()(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
        0.5
    """

    name = "accuracy"

    def __init__(self, top_k: int = 1, *, threshold: float | None = None) -> None:
        self.top_k = whole("Accuracy", "top_k", top_k)
        self.name = "accuracy" if top_k == 1 else f"top_{top_k}_accuracy"
        self._at(threshold)

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        reading = self.predictions.read(self.name, outputs, targets)
        if self.top_k == 1:
            right = self.predictions.decided(reading) == reading.true()
        else:
            right = self._among_largest(reading, outputs, targets)
        return {"right": int(np.count_nonzero(right)), "count": right.size}

    def _among_largest(self, reading: Reading, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if reading.kind != "classes" or self.top_k >= reading.count:
            what = f"{reading.count} classes" if reading.kind == "classes" else "yes and no"
            raise refused(self.name, outputs, targets, f"the {self.top_k} best of {what} are always right")
        rows, true = reading.rows(), reading.true()
        largest = np.argsort(rows, axis=1, kind="stable")[:, -self.top_k :]
        return (largest == true[:, None]).any(1)

    def value(self, state: State) -> float:
        return float(state["right"] / state["count"]) if state["count"] else nan


class _OfCounts(_OfDecisions):
    """Base of metrics of how often each class is the target, the answer, and both."""

    def __init__(
        self, average: str | None = None, *, threshold: float | None = None, zero_division: float = 0.0
    ) -> None:
        owner = type(self).__name__
        self.average = None if average is None else one_of(owner, "average", average, _AVERAGES)
        self.zero_division = number(owner, "zero_division", zero_division)
        self.is_number = average != "none"
        self._at(threshold)

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        reading = self.predictions.read(self.name, outputs, targets)
        true, found = reading.true(), self.predictions.decided(reading)
        if reading.kind == "labels":
            counts = [np.count_nonzero(x, axis=0) for x in (true & found, true, found)]
        else:
            size = reading.count
            counts = [
                np.bincount(x.astype(np.int64).ravel(), minlength=size)
                for x in (true[true == found], true, found)
            ]
        if self.average == "binary" and (reading.kind == "labels" or reading.count != 2):
            what = f"{reading.count} {'labels' if reading.kind == 'labels' else 'classes'}"
            reason = f"average='binary' is of yes and no, there are {what}"
            raise refused(self.name, outputs, targets, reason, "average='macro', 'micro' or 'weighted'")
        is_binary = reading.kind != "labels" and reading.count == 2 and self.average in (None, "binary")
        return {
            "both": counts[0].astype(np.int64),
            "true": counts[1].astype(np.int64),
            "found": counts[2].astype(np.int64),
            "binary": np.int64(is_binary),
            "labels": np.int64(reading.kind == "labels"),
        }

    def merged(self, state: State, other: State) -> State:
        added = super().merged(state, other)
        return {**added, "binary": state["binary"], "labels": state["labels"]}

    def value(self, state: State) -> Any:
        both, true, found = (state[name].astype(float) for name in ("both", "true", "found"))
        if not true.size or (not state["labels"] and not true.sum()):
            return nan
        if state["binary"]:
            return float(self._of(both, true, found)[1])
        seen = np.ones(true.shape, bool) if state["labels"] or self.average == "none" else true + found > 0
        both, true, found = both[seen], true[seen], found[seen]
        if self.average == "micro":
            return float(self._of(*(np.atleast_1d(x.sum()) for x in (both, true, found)))[0])
        each = self._of(both, true, found)
        if self.average == "none":
            return each
        weighted = self.average == "weighted" and true.sum() > 0
        return float(np.average(each, weights=true if weighted else None))

    def _of(self, both: np.ndarray, true: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The metric of each class."""
        over, under = self.ratio(both, true, found)
        return np.divide(over, under, out=np.full(over.shape, self.zero_division), where=under != 0)

    def ratio(self, both: np.ndarray, true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and denominator, of the counts of each class."""
        raise NotImplementedError


class Precision(_OfCounts):
    """Share of the answers of a class that are right: `tp / (tp + fp)`.

    Args:
        average: "binary" is that of class 1 of two; "macro" the mean over the classes that occur,
            "weighted" that mean by the number of targets, "micro" of the sums over the classes,
            "none" an array of all classes. "binary" unless given where there are two classes,
            "macro" where there are more, or several labels.
        threshold: the output above which the answer is yes; the loss's unless given.
        zero_division: the value where no answer is of the class.
    Raises:
        CallError: an argument out of its range; outputs and targets do not fit, or it is open what
            they mean.
    Example:
        >>> outputs, targets = np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([1, 0])
        >>> nn.metrics.Precision()(outputs, targets)
        0.5
    """

    name = "precision"

    def ratio(self, both: np.ndarray, true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return both, found


class Recall(_OfCounts):
    """Share of the targets of a class that are found: `tp / (tp + fn)`.

    Args:
        average, threshold: as for `Precision`.
        zero_division: the value where no target is of the class.
    Raises:
        CallError: an argument out of its range; outputs and targets do not fit, or it is open what
            they mean.
    Example:
        >>> outputs, targets = np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([1, 0])
        >>> nn.metrics.Recall()(outputs, targets)
        1.0
    """

    name = "recall"

    def ratio(self, both: np.ndarray, true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return both, true


class F1(_OfCounts):
    """Harmonic mean of precision and recall: `2 tp / (2 tp + fp + fn)`.

    Args:
        average, threshold: as for `Precision`.
        zero_division: the value where neither a target nor an answer is of the class.
    Raises:
        CallError: an argument out of its range; outputs and targets do not fit, or it is open what
            they mean.
    Example:
        >>> outputs, targets = np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]), np.array([1, 0, 0])
        >>> round(nn.metrics.F1()(outputs, targets), 4)
        0.6667
    """

    name = "f1"

    def ratio(self, both: np.ndarray, true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 2 * both, true + found


class ConfusionMatrix(_OfDecisions):
    """Counts of targets by their class (rows) and by the answer (columns).

    It is an array, so it is called on outputs and targets, and no metric of a `Trainer`.

    Args:
        threshold: the output above which the answer is yes.
    Shapes:
        output: (classes, classes), i64; (labels, 2, 2) of several labels
    Raises:
        CallError: outputs and targets do not fit, or it is open what they mean.
    Example:
        >>> outputs, targets = np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]), np.array([1, 0, 0])
        >>> nn.metrics.ConfusionMatrix()(outputs, targets).tolist()
        [[1, 1], [0, 1]]
    """

    name = "confusion_matrix"
    is_number = False

    def __init__(self, *, threshold: float | None = None) -> None:
        self._at(threshold)

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        reading = self.predictions.read(self.name, outputs, targets)
        true = reading.true().astype(np.int64)
        found = self.predictions.decided(reading).astype(np.int64)
        if reading.kind == "labels":
            return {"counts": np.stack([_crossed(t, f, 2) for t, f in zip(true.T, found.T)])}
        return {"counts": _crossed(true, found, reading.count)}

    def value(self, state: State) -> np.ndarray:
        return state["counts"]


def _crossed(true: np.ndarray, found: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(true.ravel() * size + found.ravel(), minlength=size * size).reshape(size, size)
