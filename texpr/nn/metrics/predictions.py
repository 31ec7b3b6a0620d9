"""Readings of outputs and targets: as yes and no, as several labels, or as one class of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from texpr.support.errors import CallError


class Reading(NamedTuple):
    """Outputs and targets that count.

    Attributes:
        kind: "binary", "labels" (several answers of yes and no for an example) or "classes".
        outputs: (n,) of binary answers, (n, labels), or with the classes on `axis`.
        targets: truth values as those outputs, or class numbers without the axis of classes.
        counted: which places of the targets of classes count; None for all.
    """

    kind: str
    outputs: np.ndarray
    targets: np.ndarray
    axis: int = 1
    counted: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of classes; 2 for binary answers."""
        return 2 if self.kind == "binary" else self.outputs.shape[self.axis]

    def true(self) -> np.ndarray:
        """Class numbers (n,), or truth values (n,) or (n, labels)."""
        return self.targets if self.counted is None else self.targets[self.counted]

    def rows(self) -> np.ndarray:
        """Outputs of classes as (n, classes)."""
        moved = np.moveaxis(self.outputs, self.axis, -1)
        return moved.reshape(-1, self.count) if self.counted is None else moved[self.counted]


class Predictions:
    """Meaning of outputs and targets for a loss.

    Classes lie on axis 1, as in the losses, or on the last axis where only that fits. Targets are
    class numbers, or numbers for every class, such as probabilities. One output per place, or a
    loss of yes and no, makes it a question of yes and no: of several labels, where two axes have
    the labels on the second one.

    Args:
        loss: says by `ignore_index` which labels are ignored (else negative ones), and by
            `threshold` above which output the answer is yes.
        threshold: in place of the loss's.
    """

    def __init__(self, loss: object = None, threshold: float | None = None) -> None:
        self.loss, self.known = type(loss).__name__, hasattr(loss, "labels")
        self.has_labels = bool(getattr(loss, "labels", False))
        self.of_numbers = bool(getattr(loss, "of_numbers", False))
        self.of_features = bool(getattr(loss, "of_features", False))
        self.is_likelihood = bool(getattr(loss, "is_likelihood", not self.known))
        self._ignored: int | None = getattr(loss, "ignore_index", None)
        self.threshold: float | None = getattr(loss, "threshold", None) if threshold is None else threshold

    def read(self, owner: str, outputs: Any, targets: Any) -> Reading:
        """Outputs and targets by their kind, without those that are ignored.

        Args:
            owner: the metric, for messages.
        Raises:
            CallError: outputs and targets do not fit, or it is open what they mean.
        """
        outputs, targets = np.asarray(outputs), np.asarray(targets)
        if self.of_features:
            raise refused(
                owner,
                outputs,
                targets,
                f"the outputs are features, which {self.loss} makes logits of",
                "call the metric on logits: metric(loss.linear(features), y)",
            )
        if self._is_binary(outputs, targets):
            return self._of_yes_and_no(owner, outputs, targets)
        return self._of_classes(owner, outputs, targets)

    def decided(self, reading: Reading) -> np.ndarray:
        """The answers: truth values, or numbers of the classes with the largest outputs; the first
        of equal ones counts.
        """
        if reading.kind != "classes":
            return reading.outputs > (self.threshold or 0.0)
        found = reading.outputs.argmax(reading.axis)
        return found if reading.counted is None else found[reading.counted]

    def _is_binary(self, outputs: np.ndarray, targets: np.ndarray) -> bool:
        if self.has_labels:
            return False
        return self.threshold is not None or (
            outputs.size == targets.size and (outputs.ndim <= 1 or outputs.shape[1] == 1)
        )

    def _of_yes_and_no(self, owner: str, outputs: np.ndarray, targets: np.ndarray) -> Reading:
        if outputs.size != targets.size:
            raise refused(owner, outputs, targets, "there is one output per target")
        if self.threshold is None and self.known:
            raise refused(
                owner,
                outputs,
                targets,
                f"{self.loss} does not say which output means yes",
                "give the metric a threshold, such as nn.metrics.Accuracy(threshold=0.5)",
            )
        truth = targets > 0.5
        if outputs.ndim == 2 and outputs.shape[1] > 1 and outputs.shape == targets.shape:
            return Reading("labels", outputs, truth)
        return Reading("binary", outputs.reshape(-1), truth.reshape(-1))

    def _of_classes(self, owner: str, outputs: np.ndarray, targets: np.ndarray) -> Reading:
        if outputs.shape == targets.shape and outputs.ndim > 1:
            if targets.dtype.kind in "iu" and (targets < 0).any():
                raise refused(owner, outputs, targets, "targets are lists of classes")
            if self.of_numbers and not _is_one_hot(targets):
                reason = f"{self.loss} compares numbers, and the targets are no one-hot rows"
                raise refused(owner, outputs, targets, reason, "metrics=['mae', 'r2'] of numbers")
            return Reading("classes", outputs, targets.argmax(1))
        axis = self._axis(owner, outputs, targets)
        if targets.dtype.kind == "f" and (targets != np.floor(targets)).any():
            raise refused(owner, outputs, targets, "the targets are no class numbers")
        counted = self._counted(targets)
        beyond = targets[counted] >= outputs.shape[axis]
        if beyond.any():
            label = targets[counted][beyond][0]
            raise refused(owner, outputs, targets, f"the target {label} is no class")
        labels = targets.astype(np.int64, copy=False)
        return Reading("classes", outputs, labels, axis, None if counted.all() else counted)

    def _axis(self, owner: str, outputs: np.ndarray, targets: np.ndarray) -> int:
        """The axis of the classes."""
        last = outputs.ndim - 1
        fits = [
            k
            for k in dict.fromkeys((1, last))
            if 0 <= k <= last and np.delete(outputs.shape, k).tolist() == list(targets.shape)
        ]
        if not fits or (len(fits) > 1 and not self.known):
            reason = (
                "classes may lie on axis 1 or on the last one"
                if fits
                else "expected a target per place, and classes on axis 1"
            )
            raise refused(owner, outputs, targets, reason)
        return fits[0]

    def _counted(self, targets: np.ndarray) -> np.ndarray:
        return targets != self._ignored if self.known and self._ignored is not None else targets >= 0


def refused(owner: str, outputs: np.ndarray, targets: np.ndarray, reason: str, help: str = "") -> CallError:
    """The error of a metric that cannot be computed of a batch."""
    return CallError(
        f"{owner}: outputs are {list(outputs.shape)} and targets {list(targets.shape)}: {reason}",
        code="metric",
        help=help or "pass a function of outputs and targets in its place",
    )


def _is_one_hot(targets: np.ndarray) -> bool:
    return bool(((targets == 0) | (targets == 1)).all() and (targets.sum(1) == 1).all())
