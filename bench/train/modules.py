"""The networks as modules of a library that has torch's names: `texpr.nn` or `torch.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.train.nets import Net


def module(nn: Any, net: Net) -> Any:
    """A network whose parameters have first values of the library's own."""
    return nn.Sequential(*(_LAYERS[str(kind)](nn, *arguments) for kind, *arguments in net.layers))


def _convolution(nn: Any, i: int, o: int, window: int, stride: int) -> Any:
    return nn.Sequential(nn.Conv2d(i, o, window, stride, window // 2, bias=False), nn.BatchNorm2d(o))


def _block(nn: Any, i: int, o: int, stride: int) -> Any:
    """Two convolutions beside a way around them: He et al., Deep Residual Learning for Image
    Recognition, 2016.
    """

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = _convolution(nn, i, o, 3, stride), _convolution(nn, o, o, 3, 1)
            self.around = nn.Sequential() if (i, stride) == (o, 1) else _convolution(nn, i, o, 1, stride)
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.relu(self.two(self.relu(self.one(x))) + self.around(x))

    return Block()


def _last(nn: Any, i: int, hidden: int) -> Any:
    """What a recurrent layer gives at the end of each sequence."""

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(i, hidden, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0][:, -1]

    return Last()


_LAYERS: dict[str, Callable[..., Any]] = {
    "linear": lambda nn, i, o: nn.Linear(i, o),
    "conv": lambda nn, i, o, window: nn.Conv2d(i, o, window),
    "conv_norm_relu": lambda nn, i, o: nn.Sequential(_convolution(nn, i, o, 3, 1), nn.ReLU()),
    "block": _block,
    "relu": lambda nn: nn.ReLU(),
    "pool": lambda nn, window: nn.MaxPool2d(window),
    "mean": lambda nn: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
    "flatten": lambda nn: nn.Flatten(),
    "tokens": lambda nn: nn.Flatten(0, 1),
    "embedding": lambda nn, words, width: nn.Embedding(words, width),
    "lstm": _last,
    "encoder": lambda nn, width, heads, inside: nn.TransformerEncoderLayer(
        width, heads, inside, 0.0, batch_first=True, norm_first=True
    ),
}
