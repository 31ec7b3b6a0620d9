"""Networks whose training is predicted by `bench scaling`, with a batch of a rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import nn
from texpr.support.frozen_dataclass import frozen

Parts = tuple[nn.Module, Callable[..., Any], nn.optim.Optimizer, Any, Any]
"""A model, its loss and optimizer, a batch of data and its targets."""


@frozen
class Network:
    """A network with a batch.

    Attributes:
        make: the module, with the first values of seed 0.
        shape: of a batch; its first extent is that of a rank.
        classes: of the labels.
        optimizer: of the parameters.
        words: what is given are so many different integers; 0: floats.
    """

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    classes: int
    optimizer: Callable[[Any], nn.optim.Optimizer]
    words: int = 0

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels, a label for each word or each example."""
        rng = np.random.default_rng(0)
        if self.words:
            return rng.integers(0, self.words, self.shape), rng.integers(0, self.classes, np.prod(self.shape))
        data = rng.standard_normal(self.shape, dtype=np.float32)
        return data, rng.integers(0, self.classes, self.shape[0])

    def parts(self) -> Parts:
        """All that a step needs, the same each time."""
        nn.manual_seed(0)
        model = self.make()
        return model, nn.CrossEntropyLoss(), self.optimizer(model.parameters()), *self.batch()


def _mlp() -> nn.Module:
    """Three wide layers: many parameters for their arithmetic."""
    wide = [each for _ in range(2) for each in (nn.Linear(2048, 2048), nn.ReLU())]
    return nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), *wide, nn.Linear(2048, 10))


def _cnn() -> nn.Module:
    """Two convolutions for images of 28 x 28."""
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
    )


def _transformer() -> nn.Module:
    """Four layers of 128 features, for texts of 64 letters."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, 0.0, batch_first=True, norm_first=True)
    return nn.Sequential(
        nn.Embedding(64, 128), nn.TransformerEncoder(layer, 4), nn.Flatten(0, 1), nn.Linear(128, 64)
    )


NETWORKS = {
    "mlp": Network(_mlp, (128, 784), 10, lambda p: nn.optim.SGD(p, lr=1e-2)),
    "cnn": Network(_cnn, (64, 1, 28, 28), 10, lambda p: nn.optim.Adam(p)),
    "transformer": Network(_transformer, (16, 128), 64, lambda p: nn.optim.AdamW(p), words=64),
}
