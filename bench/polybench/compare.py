"""Whether results agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BOUNDS = {"f8": 1e-10, "f4": 1e-4, "i4": 0.0}
"""The largest accepted difference, relative to the largest element: sums run in other orders,
and -ffast-math changes more.
"""


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of two arrays, relative to the largest element; infinite for
    another shape, type, or a NaN.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    gap = np.max(np.abs(found.astype("f8") - expected), initial=0.0)
    size = np.max(np.abs(expected.astype("f8")), initial=0.0)
    relative = gap / size if size else gap
    return float("inf") if np.isnan(relative) else float(relative)


def agree(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> bool:
    """Whether all results are equal within the bound of their type."""
    return len(found) == len(expected) and all(
        difference(f, e) <= BOUNDS[e.dtype.str[1:]] for f, e in zip(found, expected)
    )
