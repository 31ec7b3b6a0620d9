"""A network: its input, and how torch makes it with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

IMAGE = (3, 224, 224)


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        shape: of an input without the batch.
        words: what is given are so many different whole numbers; 0: floats.
        make: the torch module.
    """

    name: str
    shape: tuple[int, ...]
    make: Callable[[], Any]
    words: int = 0

    def input(self, batch: int) -> np.ndarray:
        """Random data, the same in every process."""
        rng = np.random.default_rng(0)
        if self.words:
            return rng.integers(0, self.words, (batch, *self.shape))
        return rng.standard_normal((batch, *self.shape), dtype=np.float32)


def of_images(make: Callable[[str], Callable[[], Any]], *names: str) -> tuple[Network, ...]:
    """Networks of images of 224 by 224 pixels, which `make` makes by their names."""
    return tuple(Network(name, IMAGE, make(name)) for name in names)
