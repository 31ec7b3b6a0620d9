"""Networks as data, with the same first weights and batch for every library."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

Layer = tuple[object, ...]
Uniform = tuple[tuple[int, ...], float, float]
"""A parameter: its shape, and between which values it begins."""


@dataclass(frozen=True)
class Net:
    """A network and what is timed of it.

    Attributes:
        layers: in the words of `parameters_of` and `bench.train.modules`.
        shape: of one batch.
        classes: of the labels, one for each row of the result; the loss is cross entropy.
        optimizer: `sgd`, `adam` or `adamw`; empty: the network is applied, not trained.
        bar: what share of the best other library's time a step may take.
        words: what is given are so many different whole numbers; 0: floats.
    """

    name: str
    layers: tuple[Layer, ...]
    shape: tuple[int, ...]
    classes: int
    optimizer: str
    rate: float
    bar: float
    words: int = 0

    def weights(self) -> list[list[np.ndarray]]:
        """The parameters of each layer that has some, in torch's order."""
        rng = np.random.default_rng(0)
        each = (
            [rng.uniform(lo, hi, shape).astype(np.float32) for shape, lo, hi in parameters_of(layer)]
            for layer in self.layers
        )
        return [found for found in each if found]

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels."""
        rng = np.random.default_rng(1)
        data = (
            rng.integers(0, self.words, self.shape)
            if self.words
            else rng.standard_normal(self.shape, dtype=np.float32)
        )
        return data, rng.integers(0, self.classes, prod(self.shape) if self.words else self.shape[0])


def parameters_of(layer: Layer) -> list[Uniform]:
    """The parameters of a layer, in torch's order."""
    kind, *rest = layer
    numbers: list[int] = rest  # type: ignore[assignment]
    match kind, numbers:
        case "linear", [i, o]:
            return _even(i, (o, i), (o,))
        case "conv", [i, o, window]:
            return _even(i * window * window, (o, i, window, window), (o,))
        case "conv_norm_relu", [i, o]:
            return _convolution(i, o, 3)
        case "block", [i, o, stride]:
            return [
                *_convolution(i, o, 3),
                *_convolution(o, o, 3),
                *(_convolution(i, o, 1) if (i, stride) != (o, 1) else []),
            ]
        case "embedding", [words, width]:
            return _even(1, (words, width))
        case "lstm", [i, hidden]:
            return _even(hidden, (4 * hidden, i), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,))
        case "encoder", [width, _, inside]:
            maps = [(3 * width, width), (3 * width,), (width, width), (width,), (inside, width), (inside,)]
            return [
                *_even(width, *maps),
                *_even(inside, (width, inside), (width,)),
                *_norm(width),
                *_norm(width),
            ]
    return []


def _even(inputs: int, *shapes: tuple[int, ...]) -> list[Uniform]:
    return [(shape, -1 / sqrt(inputs), 1 / sqrt(inputs)) for shape in shapes]


def _norm(width: int) -> list[Uniform]:
    return [((width,), 1.0, 1.0), ((width,), 0.0, 0.0)]


def _convolution(i: int, o: int, window: int) -> list[Uniform]:
    return [*_even(i * window * window, (o, i, window, window)), *_norm(o)]


def _mlp(*sizes: int) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [("linear", i, o), ("relu",)]
    return tuple(layers[:-1])


def _resnet(widths: tuple[int, ...], classes: int) -> tuple[Layer, ...]:
    """Two blocks for each width: 18 layers for four."""
    blocks: list[Layer] = [("conv_norm_relu", 3, widths[0])]
    for before, width in zip((widths[0], *widths), widths):
        blocks += [("block", before, width, 1 if width == widths[0] else 2), ("block", width, width, 1)]
    return (*blocks, ("mean",), ("linear", widths[-1], classes))


_CNN: tuple[Layer, ...] = (
    ("conv", 1, 32, 3),
    ("relu",),
    ("conv", 32, 64, 3),
    ("relu",),
    ("pool", 2),
    ("flatten",),
    ("linear", 9216, 128),
    ("relu",),
    ("linear", 128, 10),
)

NETS = {
    net.name: net
    for net in (
        Net("digits-mlp", _mlp(64, 128, 10), (32, 64), 10, "adam", 1e-3, 0.25),
        Net("mlp", _mlp(784, 512, 512, 10), (128, 784), 10, "sgd", 1e-2, 0.80),
        Net("mlp-one", _mlp(784, 512, 512, 10), (1, 784), 10, "", 0.0, 0.60),
        Net("cnn", _CNN, (64, 1, 28, 28), 10, "adam", 1e-3, 0.70),
        Net("lstm", (("lstm", 128, 128), ("linear", 128, 10)), (32, 64, 128), 10, "adam", 1e-3, 0.80),
        Net("resnet", _resnet((32, 64, 128, 256), 10), (32, 3, 32, 32), 10, "sgd", 1e-2, 0.85),
        Net(
            "transformer",
            (("embedding", 64, 128), *[("encoder", 128, 4, 512)] * 4, ("tokens",), ("linear", 128, 64)),
            (16, 128),
            64,
            "adamw",
            1e-3,
            0.75,
            words=64,
        ),
    )
}
"""What is timed."""
