"""One way to compute one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.x86.rows import Arrays, Row


@dataclass(frozen=True)
class Candidate:
    """A function of no arguments that is timed.

    Attributes:
        run: computes the row once, and gives its result.
        result: what `run` gave as an array in the layout of the reference; None if it gives none,
            and is no candidate for the best.
    """

    run: Callable[[], object]
    result: Callable[[Any], np.ndarray] | None = np.asarray


Make = Callable[[Row, Arrays], Candidate | None]
Columns = Mapping[str, Mapping[str, Make]]


def channels_last(image: np.ndarray) -> np.ndarray:
    """A copy with the axes batch, height, width, channels."""
    return np.ascontiguousarray(np.moveaxis(image, 1, -1))


def channels_first(image: object) -> np.ndarray:
    """The opposite, as a view."""
    return np.moveaxis(np.asarray(image), -1, 1)


def weights_last(weights: np.ndarray) -> np.ndarray:
    """Weights with the window first, then the channels in, then those out: (R, Q, C, K), or (R,
    Q, C) for one window per channel.
    """
    return np.ascontiguousarray(
        weights.transpose(2, 3, 1, 0) if weights.ndim == 4 else weights.transpose(1, 2, 0)
    )


def in_panels(weights: np.ndarray, width: int) -> np.ndarray:
    """Weights with `width` channels of the output beside each other: (K / width, R, Q, C,
    width).
    """
    last = weights_last(weights)
    return np.ascontiguousarray(np.moveaxis(last.reshape(*last.shape[:-1], -1, width), -2, 0))
