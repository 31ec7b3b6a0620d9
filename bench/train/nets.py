"""Networks as data, with the same first weights and batch for every library."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

Layer = tuple[object, ...]


@dataclass(frozen=True)
class Net:
    """A network and how it is trained.

    Attributes:
        layers: `("linear", in, out)`, `("conv", in, out, window)`, `("relu",)`, `("pool", window)`, `("flatten",)`.
        shape: of one batch.
        classes: of the labels; the loss is cross entropy.
        optimizer: `sgd` or `adam`.
        bar: what share of the best other library's time a step may take.
    """

    name: str
    layers: tuple[Layer, ...]
    shape: tuple[int, ...]
    classes: int
    optimizer: str
    rate: float
    bar: float

    def weights(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weight and bias of each layer that has them: even within 1 / sqrt(inputs)."""
        rng, found = np.random.default_rng(0), []
        for layer in self.layers:
            if layer[0] in ("linear", "conv"):
                _, i, o, *window = layer
                shape = (o, i, *(window * 2))
                bound = 1 / sqrt(prod(shape[1:]))  # type: ignore[arg-type]
                found.append(tuple(rng.uniform(-bound, bound, s).astype(np.float32) for s in (shape, (o,))))  # type: ignore[arg-type]
        return found  # type: ignore[return-value]

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels."""
        rng = np.random.default_rng(1)
        return rng.standard_normal(self.shape, dtype=np.float32), rng.integers(0, self.classes, self.shape[0])


def _mlp(*sizes: int) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [("linear", i, o), ("relu",)]
    return tuple(layers[:-1])


_CNN: tuple[Layer, ...] = (("conv", 1, 32, 3), ("relu",), ("conv", 32, 64, 3), ("relu",), ("pool", 2), ("flatten",), ("linear", 9216, 128),
                           ("relu",), ("linear", 128, 10))

NETS = {net.name: net for net in (
    Net("digits-mlp", _mlp(64, 128, 10), (32, 64), 10, "adam", 1e-3, 0.25),
    Net("mlp", _mlp(784, 512, 512, 10), (128, 784), 10, "sgd", 1e-2, 0.80),
    Net("cnn", _CNN, (64, 1, 28, 28), 10, "adam", 1e-3, 0.70),
)}
"""What is trained."""
