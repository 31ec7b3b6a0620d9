"""Memory that a run writes besides its results: arguments that overlap it are copied first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np


class WrittenMemory:
    """The arrays of variables that a run assigns to.

    Args:
        arrays: C-contiguous, none of which overlaps another.
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, arrays: Iterable[np.ndarray]) -> None:
        places = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays if a.nbytes)
        self._starts, self._ends = [start for start, _ in places], [end for _, end in places]

    def overlaps(self, array: np.ndarray) -> bool:
        """True if a C-contiguous array shares a byte with one of them."""
        start = array.__array_interface__["data"][0]
        k = bisect_left(self._starts, start + array.nbytes)  # those before begin below its end
        return k > 0 and self._ends[k - 1] > start
