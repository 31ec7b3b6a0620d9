"""Metrics of scores: how outputs rank, and how likely they make the targets."""

from __future__ import annotations

from itertools import combinations
from math import exp, nan
from typing import Self

import numpy as np

from texpr.nn.core.argument_checks import one_of
from texpr.nn.metrics.metric import Metric, State
from texpr.support.errors import CallError


class AUC(Metric):
    """Area under the receiver operating characteristic: the share of pairs of a positive and a
    negative target whose outputs are in order, ties half.

    Of more than two classes, outputs become probabilities by softmax, and each class is compared
    with the rest, or pairs of classes with each other (Hand and Till, A Simple Generalisation of
    the Area Under the ROC Curve, 2001). Of two outputs, the probability of class 1 counts. It is
    NaN where the targets have one class only, as in `sklearn.metrics`. The outputs of an epoch are
    kept.

    Args:
        average: "macro", or "weighted" by the number of targets; of classes or labels.
        multi_class: "ovr", each class against the rest, or "ovo", pairs of the classes that occur.
    Raises:
        CallError: another word; outputs and targets do not fit, or the loss compares numbers.
    Example:
        >>> nn.metrics.AUC()(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
        0.75
    """

    name = "auc"

    def __init__(self, average: str = "macro", multi_class: str = "ovr") -> None:
        self.average = one_of("AUC", "average", average, ("macro", "weighted"))
        self.multi_class = one_of("AUC", "multi_class", multi_class, ("ovr", "ovo"))

    def of(self, loss: object) -> Self:
        made = super().of(loss)
        if made.predictions.of_numbers:
            raise CallError(
                f"auc: {type(loss).__name__} compares numbers, which are neither right nor wrong",
                code="metric",
                help="metrics=['mae', 'rmse', 'r2'] are of numbers",
            )
        return made

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        reading = self.predictions.read("auc", outputs, targets)
        if reading.kind != "classes":
            return {"scores": (np.array(reading.outputs),), "targets": (reading.true(),)}
        scores = np.exp(log_softmax(reading.rows()))
        true = reading.true().reshape(-1)
        if reading.count == 2:
            return {"scores": (scores[:, 1],), "targets": (true == 1,)}
        return {"scores": (scores,), "targets": (true,)}

    def value(self, state: State) -> float:
        scores, targets = np.concatenate(state["scores"]), np.concatenate(state["targets"])
        if not targets.size:
            return nan
        if scores.ndim == 1:
            return area(targets.astype(bool), scores)
        if targets.ndim == 2 or self.multi_class == "ovr":
            hot = (
                targets.astype(bool) if targets.ndim == 2 else targets[:, None] == np.arange(scores.shape[1])
            )
            return self._mean([area(t, s) for t, s in zip(hot.T, scores.T)], hot.sum(0))
        return self._of_pairs(targets, scores)

    def _of_pairs(self, targets: np.ndarray, scores: np.ndarray) -> float:
        areas, counts = [], []
        for a, b in combinations(np.unique(targets), 2):
            both = (targets == a) | (targets == b)
            there = targets[both] == a
            areas.append((area(there, scores[both, a]) + area(~there, scores[both, b])) / 2)
            counts.append(both.sum())
        return self._mean(areas, np.array(counts))

    def _mean(self, areas: list[float], counts: np.ndarray) -> float:
        if not areas:
            return nan
        if self.average == "macro":
            return float(np.mean(areas))
        return float(np.average(np.where(counts == 0, 0.0, areas), weights=counts)) if counts.sum() else nan


class Perplexity(Metric):
    """Perplexity: `exp` of the mean negative log-likelihood of the targets that count, in nats.

    Outputs are logits or log-probabilities. Weights of classes and label smoothing of the loss are
    left out. Jelinek et al., Perplexity: a Measure of the Difficulty of Speech Recognition Tasks,
    1977.

    Raises:
        CallError: outputs and targets do not fit, or the loss is no likelihood of classes.
    Example:
        >>> round(nn.metrics.Perplexity()(np.zeros((3, 4)), np.array([0, 1, 2])), 6)
        4.0
    """

    name = "perplexity"

    def of(self, loss: object) -> Self:
        made = super().of(loss)
        if not made.predictions.is_likelihood:
            raise CallError(
                f"perplexity: {type(loss).__name__} is no likelihood of classes",
                code="metric",
                help="it is for nn.CrossEntropyLoss and nn.NLLLoss",
            )
        return made

    def measure(self, outputs: np.ndarray, targets: np.ndarray) -> State:
        reading = self.predictions.read("perplexity", outputs, targets)
        if reading.kind != "classes":
            raise CallError(
                "perplexity: the outputs are no logits of classes",
                code="metric",
                help="classes lie on axis 1",
            )
        rows, true = log_softmax(reading.rows()), reading.true().reshape(-1)
        return {"total": -rows[np.arange(true.size), true].sum(), "count": true.size}

    def value(self, state: State) -> float:
        mean = float(state["total"]) / int(state["count"]) if state["count"] else nan
        return exp(mean) if not mean > 700 else float("inf")


def log_softmax(rows: np.ndarray) -> np.ndarray:
    """Logarithms of the softmax of each row, f64."""
    rows = rows.astype(np.float64)
    rows -= rows.max(1, keepdims=True, initial=-np.inf)
    return rows - np.log(np.exp(rows).sum(1, keepdims=True))


def area(truth: np.ndarray, scores: np.ndarray) -> float:
    """Area under the curve of binary targets: the rank sum of the positives (Mann and Whitney,
    1947), with the mean rank of equal scores. NaN where all targets are alike.
    """
    positives = int(np.count_nonzero(truth))
    negatives = truth.size - positives
    if not positives or not negatives or np.isnan(scores).any():
        return nan
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[where.reshape(-1)]
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))
