"""Weights of examples: how much the loss of each counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from texpr.ir.dtypes import DType
from texpr.nn.core.inputs import NetworkInput, as_input
from texpr.nn.losses.loss import ignored_label
from texpr.support.errors import CallError

Weights = Mapping[int, float] | str | object
"""Weights of classes: a dict, an array with one for each class, or "balanced"."""


def checked_weights(given: object, count: int, dtype: DType | None) -> NetworkInput:
    """Weights along axis 0, as the model's floats.

    Raises:
        CallError: another number of weights than examples, or one that is negative or not finite.
    """
    array = np.asarray(given)
    if array.ndim == 0 or len(array) != count:
        found = "1 weight" if array.ndim == 0 else f"{len(array)} weights"
        raise CallError(f"sample_weight has {found} for {count} examples", code="data")
    if array.dtype.kind not in "fiub" or not np.isfinite(array).all() or (array < 0).any():
        raise CallError(
            "sample_weight has a weight that is no finite number of at least 0",
            code="data",
            help="weight 0 leaves an example out",
        )
    return as_input(array.astype(np.float64), dtype)


def weights_of(
    y: Any, sample_weight: object, class_weight: Weights | None, loss: object
) -> np.ndarray | None:
    """The weights of examples, or of places of targets, by their classes and one by one; None
    where all count alike.

    Raises:
        CallError: targets that are no classes, or a class without a weight.
    """
    given = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if class_weight is None:
        return given
    labels = _labels(np.asarray(y), loss)
    ignored = ignored_label(loss)
    counted = np.ones(labels.shape, bool) if ignored is None else labels != ignored
    by_class = np.ones(labels.shape)
    by_class[counted] = _of_classes(class_weight, labels[counted])
    if given is None:
        return by_class
    return by_class * given.reshape(given.shape + (1,) * (by_class.ndim - given.ndim))


def _labels(y: np.ndarray, loss: object) -> np.ndarray:
    """Targets as class numbers; those of yes and no are 0 and 1."""
    if getattr(loss, "labels", False) and y.dtype.kind in "iub":
        return y.astype(np.int64)
    if getattr(loss, "threshold", None) is not None:
        return (y > 0.5).astype(np.int64)
    raise CallError(
        f"class_weight: the targets of {type(loss).__name__} are no class numbers",
        code="arguments",
        help="pass sample_weight, a weight for each example",
    )


def _of_classes(given: Weights, labels: np.ndarray) -> np.ndarray:
    found, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if isinstance(given, str):
        if given != "balanced":
            raise CallError(
                f"class_weight is {given!r}, expected 'balanced', a dict or an array", code="arguments"
            )
        return (labels.size / (len(found) * counts))[where]
    known = given if isinstance(given, Mapping) else np.asarray(given, np.float64).ravel()
    there = known if isinstance(known, Mapping) else range(len(known))
    missing = [c for c in found.tolist() if c not in there]
    if missing:
        raise CallError(
            f"class_weight has no weight of class {missing[0]}",
            code="arguments",
            help=f"it has those of {', '.join(map(str, sorted(there)))}",
        )
    return np.array([float(known[c]) for c in found.tolist()])[where]
