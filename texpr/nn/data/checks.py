"""Checks of training data before it is used."""

from __future__ import annotations

import numpy as np

from texpr.ir.dtypes import I64, DType
from texpr.nn.core.inputs import NetworkInput, as_input
from texpr.support.errors import CallError


def checked_inputs(x: object, dtype: DType | None) -> NetworkInput:
    """Examples along the first axis, floats in the model's dtype.

    Raises:
        CallError: no examples, or no numbers.
    """
    given = as_input(x, dtype)
    if given.array.ndim == 0 or len(given.array) == 0:
        raise CallError(
            f"x has shape {given.array.shape}, expected at least one example along axis 0", code="data"
        )
    return given


def checked_targets(y: object, count: int, labels: bool, dtype: DType | None) -> NetworkInput:
    """One target per example: class numbers as int64, floats in the model's dtype.

    Raises:
        CallError: another number of targets than examples, or class numbers that are no integers.
    """
    array = np.asarray(y)
    if array.ndim == 0 or len(array) != count:
        found = "1 target" if array.ndim == 0 else f"{len(array)} targets"
        raise CallError(f"x has {count} examples and y {found}", code="data")
    return as_target(array, labels, dtype)


def as_target(y: object, labels: bool, dtype: DType | None) -> NetworkInput:
    """Targets as a loss takes them: class numbers as int64, floats in the model's dtype.

    Raises:
        CallError: class numbers that are no integers.
    """
    if not labels:
        return as_input(y, dtype)
    array = np.asarray(y)
    if array.dtype.kind == "f" and array.ndim > 1:
        return as_input(array, dtype)  # probabilities of classes
    if array.dtype.kind not in "iub":
        raise CallError(
            f"the labels are {array.dtype}, expected integers",
            code="data",
            help="convert them: y.astype(np.int64)",
        )
    return NetworkInput(array.astype(np.int64, copy=False), I64)


def check_labels(y: np.ndarray, classes: int, ignored: int | None = None) -> None:
    """Raise CallError for the first label that is neither a class nor the one that counts for
    nothing.
    """
    if (
        y.size and y.dtype == np.int64 and int(y.view(np.uint64).max()) < classes
    ):  # what is below 0 is very large without a sign
        return
    bad = ((y < 0) | (y >= classes)) & (True if ignored is None else y != ignored)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), y.shape)
        where = f"[{', '.join(map(str, at))}]" if at else ""
        aside = (
            f"nn.CrossEntropyLoss(ignore_index={y[at]}), if labels of {y[at]} do not count"
            if y[at] < 0
            else ""
        )
        raise CallError(
            f"the label y{where} is {y[at]}, expected 0 to {classes - 1}",
            code="data",
            help=aside,
            notes=(f"{int(bad.sum())} of {y.size} labels are out of range; the model has {classes} outputs",),
        )
