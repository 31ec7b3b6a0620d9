"""The meaning of the library's extern operators: orders of rows, and places in ordered rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np


def argsort_rows(X: np.ndarray) -> np.ndarray:  # noqa: N803
    """Places in increasing order along the last axis; equal elements in their order, NaN last."""
    return np.argsort(X, axis=-1, kind="stable")


def argsort_rows_down(X: np.ndarray) -> np.ndarray:  # noqa: N803
    """Places in decreasing order along the last axis; equal elements in their order, NaN first."""
    return X.shape[-1] - 1 - np.argsort(X[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def search_row(A: np.ndarray, V: np.ndarray) -> np.ndarray:  # noqa: N803
    """For each value the number of elements of an ordered vector that are less."""
    return np.searchsorted(A, V, "left")


def search_row_right(A: np.ndarray, V: np.ndarray) -> np.ndarray:  # noqa: N803
    """For each value the number of elements of an ordered vector that are less or equal."""
    return np.searchsorted(A, V, "right")


ROW_ORDERS: Mapping[str, Callable[..., object]] = {
    each.__name__: each for each in (argsort_rows, argsort_rows_down, search_row, search_row_right)
}
"""By the names of the operators. Compiled kernels call native code (`runtime.call.sorting`)."""
