"""The extern operators of the library (`texpr/ops/library/sorting.tx`): orders of rows, registered
through `register_extern` as those of users are. The interpreter calls the functions here, compiled
kernels the native code of `runtime.call.sorting`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from texpr.ir.extern import register_extern, works_along_rows
from texpr.support.late import late

if TYPE_CHECKING:
    from texpr.runtime.call import sorting
else:
    sorting = late("texpr.runtime.call.sorting")


def argsort_rows(X: np.ndarray) -> np.ndarray:  # noqa: N803
    """Places in increasing order along the last axis; equal elements in their order, NaN last."""
    return np.argsort(X, axis=-1, kind="stable")


def argsort_rows_down(X: np.ndarray) -> np.ndarray:  # noqa: N803
    """Places in decreasing order along the last axis; equal elements in their order, NaN first."""
    return X.shape[-1] - 1 - np.argsort(X[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def top_rows(X: np.ndarray, k: int) -> np.ndarray:  # noqa: N803
    """The first k of these places."""
    return argsort_rows_down(X)[..., :k]


def search_row(A: np.ndarray, V: np.ndarray) -> np.ndarray:  # noqa: N803
    """For each value the number of elements of an ordered vector that are less."""
    return np.searchsorted(A, V, "left")


def search_row_right(A: np.ndarray, V: np.ndarray) -> np.ndarray:  # noqa: N803
    """For each value the number of elements of an ordered vector that are less or equal."""
    return np.searchsorted(A, V, "right")


_NATIVE: Mapping[Callable[..., np.ndarray], tuple[str, tuple[int, ...]]] = {
    argsort_rows: ("argsort", (2, 2)),
    argsort_rows_down: ("argsort_down", (2, 2)),
    top_rows: ("top", (2, 2)),
    search_row: ("search", (1, 1, 1)),
    search_row_right: ("search_right", (1, 1, 1)),
}
"""The native function of each, and the ranks of its arrays: who declares an operator of the same
name with others gets the function here.
"""


def _address(
    native: str, expected: tuple[int, ...], dtypes: tuple[str, ...], ranks: tuple[int, ...]
) -> int | None:
    fits = ranks == expected and dtypes[0] in sorting.DTYPES and dtypes[-1] == "i64"
    return sorting.address(native, dtypes[0]) if fits and len({*dtypes[:-1]}) == 1 else None


def register() -> None:
    """Register all of them; importing `texpr.compiler` does."""
    for function, (native, ranks) in _NATIVE.items():
        register_extern(function.__name__, function, address=partial(_address, native, ranks))
    works_along_rows(argsort_rows)
    works_along_rows(argsort_rows_down)
    works_along_rows(top_rows)
