"""Sums over the ranks of a step that runs: layers may ask for them, and know no communicator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from texpr.compiler import op, register_vjp
from texpr.ir.extern import register_extern

Sum = Callable[[np.ndarray], np.ndarray]
"""Of the numbers of this rank; those of all ranks, added up."""


class _Current(threading.local):
    """The sum of the step that this thread captures or runs."""

    sum: Sum | None = None


_current = _Current()
_TEXT = "extern op sum_over_ranks(X: f64[N]) -> Y: f64[N]"
sum_over_ranks = op(_TEXT)
"""The sum over the ranks of a step. A cotangent is the sum of those of all ranks."""


@contextmanager
def summing(function: Sum) -> Iterator[None]:
    """Within the block, this thread captures or runs the step of a rank."""
    before, _current.sum = _current.sum, function
    try:
        yield
    finally:
        _current.sum = before


def is_summing() -> bool:
    """True if a step of several ranks is captured or runs."""
    return _current.sum is not None


def _summed(X: np.ndarray) -> np.ndarray:
    return X.copy() if _current.sum is None else _current.sum(X)


register_extern("sum_over_ranks", _summed)
register_vjp(
    "sum_over_ranks", f"{_TEXT}\nop dsum_over_ranks(dY: f64[N]) -> dX: f64[N] {{ dX = sum_over_ranks(dY) }}"
)
