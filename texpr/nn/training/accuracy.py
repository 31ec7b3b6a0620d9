"""The share of targets that a network gets right."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.support.errors import CallError


class Accuracy:
    """The share of places where the class with the largest output is the target's; the first of
    equal ones counts.

    Classes lie on axis 1, as in the losses, or on the last axis where only that fits. Targets are
    class numbers, or numbers for every class, such as probabilities. One output per place, or a
    loss of yes and no, makes it the share of places where output and target lie on the same side of
    their thresholds. Ignored labels do not count.

    Args:
        loss: says by `ignore_index` which labels are ignored (else negative ones), and by
            `threshold` above which output the answer is yes.
    """

    def __init__(self, loss: object) -> None:
        self._has_labels, self._known = bool(getattr(loss, "labels", False)), hasattr(loss, "labels")
        self._ignored: int | None = getattr(loss, "ignore_index", None)
        self._threshold: float | None = getattr(loss, "threshold", None)
        self._loss = type(loss).__name__

    def __call__(self, outputs: np.ndarray, targets: np.ndarray) -> tuple[float, int]:
        """The accuracy, and how many targets count.

        Raises:
            CallError: outputs and targets do not fit, or it is open what they mean.
        """
        outputs, targets = np.asarray(outputs), np.asarray(targets)
        right = (
            self._of_yes_and_no(outputs, targets)
            if self._is_binary(outputs, targets)
            else self._of_classes(outputs, targets)
        )
        counts = (
            self._counted(targets).reshape(right.shape)
            if right.shape == targets.shape
            else np.ones(right.shape, bool)
        )
        count = int(counts.sum())
        return (float(np.count_nonzero(right & counts) / count) if count else float("nan")), count

    def _is_binary(self, outputs: np.ndarray, targets: np.ndarray) -> bool:
        if self._has_labels:
            return False
        return self._threshold is not None or (
            outputs.size == targets.size and (outputs.ndim == 1 or outputs.shape[1] == 1)
        )

    def _of_yes_and_no(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if outputs.size != targets.size:
            raise self._refused(outputs, targets, "there is one output per target")
        if self._threshold is None and self._known:
            raise self._refused(outputs, targets, f"{self._loss} does not say which output means yes")
        return (outputs.reshape(targets.shape) > (self._threshold or 0.0)) == (targets > 0.5)

    def _of_classes(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if outputs.shape == targets.shape and outputs.ndim > 1:
            if targets.dtype.kind in "iu" and (targets < 0).any():
                raise self._refused(outputs, targets, "targets are lists of classes")
            return outputs.argmax(1) == targets.argmax(1)
        return outputs.argmax(self._axis(outputs, targets)) == targets

    def _axis(self, outputs: np.ndarray, targets: np.ndarray) -> int:
        """The axis of the classes."""
        last = outputs.ndim - 1
        fits = [
            k
            for k in dict.fromkeys((1, last))
            if 0 <= k <= last and np.delete(outputs.shape, k).tolist() == list(targets.shape)
        ]
        if not fits or (len(fits) > 1 and not self._known):
            reason = (
                "classes may lie on axis 1 or on the last one"
                if fits
                else "expected a target per place, and classes on axis 1"
            )
            raise self._refused(outputs, targets, reason)
        return fits[0]

    def _counted(self, targets: np.ndarray) -> np.ndarray:
        if targets.dtype.kind not in "iu" or self._threshold is not None:
            return np.ones(targets.shape, bool)
        return targets != self._ignored if self._known and self._ignored is not None else targets >= 0

    def _refused(self, outputs: Any, targets: Any, reason: str) -> CallError:
        return CallError(
            f"accuracy: outputs are {list(outputs.shape)} and targets {list(targets.shape)}: {reason}",
            code="metric",
            help="pass a function of outputs and targets in its place",
        )
