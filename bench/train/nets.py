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
        rows: of the result; as many as words, or as the batch has examples, unless given.
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
    rows: int = 0

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
        rows = self.rows or (prod(self.shape) if self.words else self.shape[0])
        return data, rng.integers(0, self.classes, rows)


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
        case "conv1d", [i, o, window, _]:
            return _even(i * window, (o, i, window), (o,))
        case "conv3d", [i, o, window]:
            return _even(i * window**3, (o, i, window, window, window), (o,))
        case "patches", [i, o, side]:
            return _even(i * side * side, (o, i, side, side), (o,))
        case "up", [i, o, window, _, _]:
            return [*_even(i * window * window, (i, o, window, window)), *_norm(o)]
        case "up_tanh", [i, o, window, _, _]:
            return _even(i * window * window, (i, o, window, window), (o,))
        case "unet", [i, narrow, wide, widest, o]:
            return _unet(i, narrow, wide, widest, o)
        case "bigru", [i, hidden]:
            each = _even(hidden, (3 * hidden, i), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,))
            return [*each, *each]
        case "vae", [i, hidden, code]:
            maps = ((i, hidden), (hidden, code), (hidden, code), (code, hidden), (hidden, i))
            return [p for rows, columns in maps for p in _even(rows, (columns, rows), (columns,))]
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


def _unet(i: int, narrow: int, wide: int, widest: int, o: int) -> list[Uniform]:
    """Two convolutions for each width down and up again, with a transposed one before those up."""
    pairs = [(i, narrow), (narrow, wide), (wide, widest), (2 * wide, wide), (2 * narrow, narrow)]
    down = [p for a, b in pairs[:3] for p in _pair(a, b)]
    up = [
        p
        for below, (a, b) in zip((widest, wide), pairs[3:])
        for p in (*_even(4 * below, (below, b, 2, 2), (b,)), *_pair(a, b))
    ]
    return [*down, *up, *_even(narrow, (o, narrow, 1, 1), (o,))]


def _pair(i: int, o: int) -> list[Uniform]:
    return [*_even(9 * i, (o, i, 3, 3), (o,)), *_even(9 * o, (o, o, 3, 3), (o,))]


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


def _tcn(channels: int, width: int, classes: int) -> tuple[Layer, ...]:
    """A temporal convolution network: windows of three steps, further apart in each layer."""
    layers: list[Layer] = []
    for i, dilation in zip((channels, width, width, width), (1, 2, 4, 8)):
        layers += [("conv1d", i, width, 3, dilation), ("relu",)]
    return (*layers, ("time_mean",), ("linear", width, classes))


def noise(rows: int, code: int) -> np.ndarray:
    """What a variational autoencoder adds to its code: the same in every step, so that losses can
    be compared."""
    return np.random.default_rng(2).standard_normal((rows, code), dtype=np.float32)


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
        Net(
            "unet",
            (("unet", 3, 16, 32, 64, 4), ("pixels",)),
            (4, 3, 64, 64),
            4,
            "adamw",
            1e-3,
            0.80,
            rows=4 * 64 * 64,
        ),
        Net(
            "generator",
            (
                ("up", 100, 256, 4, 1, 0),
                ("up", 256, 128, 4, 2, 1),
                ("up", 128, 64, 4, 2, 1),
                ("up_tanh", 64, 3, 4, 2, 1),
                ("pixels",),
            ),
            (32, 100, 1, 1),
            3,
            "adam",
            1e-3,
            0.80,
            rows=32 * 32 * 32,
        ),
        Net(
            "tagger",
            (
                ("embedding", 1000, 64),
                ("bigru", 64, 64),
                ("bigru", 128, 64),
                ("tokens",),
                ("linear", 128, 20),
            ),
            (16, 40),
            20,
            "adamw",
            1e-3,
            0.80,
            words=1000,
        ),
        Net("tcn", _tcn(32, 64, 10), (16, 32, 256), 10, "adam", 1e-3, 0.80),
        Net(
            "cnn3d",
            (
                ("conv3d", 1, 16, 3),
                ("relu",),
                ("pool3d", 2),
                ("conv3d", 16, 32, 3),
                ("relu",),
                ("pool3d", 2),
                ("flatten",),
                ("linear", 32 * 4**3, 10),
            ),
            (8, 1, 24, 24, 24),
            10,
            "adam",
            1e-3,
            0.80,
        ),
        Net(
            "vit",
            (("patches", 3, 128, 4), *[("encoder", 128, 4, 512)] * 4, ("token_mean",), ("linear", 128, 10)),
            (16, 3, 32, 32),
            10,
            "adamw",
            1e-3,
            0.80,
        ),
        Net("vae", (("vae", 784, 400, 40),), (128, 784), 784, "adam", 1e-3, 0.80),
    )
}
"""What is timed."""
