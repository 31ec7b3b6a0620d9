"""The networks as modules of a library that has torch's names: `texpr.nn` or `torch.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.train.nets import Net, noise


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


def _up(nn: Any, i: int, o: int, window: int, stride: int, pad: int) -> Any:
    transposed = nn.ConvTranspose2d(i, o, window, stride, pad, bias=False)
    return nn.Sequential(transposed, nn.BatchNorm2d(o), nn.ReLU())


def _up_tanh(nn: Any, i: int, o: int, window: int, stride: int, pad: int) -> Any:
    return nn.Sequential(nn.ConvTranspose2d(i, o, window, stride, pad), nn.Tanh())


def _pair(nn: Any, i: int, o: int) -> Any:
    return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1), nn.ReLU())


def _unet(nn: Any, i: int, narrow: int, wide: int, widest: int, o: int) -> Any:
    """Ronneberger, Fischer, Brox, U-Net, 2015."""

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.three = (
                _pair(nn, *sides) for sides in ((i, narrow), (narrow, wide), (wide, widest))
            )
            self.pool = nn.MaxPool2d(2)
            self.up_two, self.over_two = nn.ConvTranspose2d(widest, wide, 2, 2), _pair(nn, 2 * wide, wide)
            self.up_one, self.over_one = nn.ConvTranspose2d(wide, narrow, 2, 2), _pair(nn, 2 * narrow, narrow)
            self.last = nn.Conv2d(narrow, o, 1)

        def forward(self, x: Any) -> Any:
            one = self.one(x)
            two = self.two(self.pool(one))
            x = self.over_two(_beside(two, self.up_two(self.three(self.pool(two)))))
            return self.last(self.over_one(_beside(one, self.up_one(x))))

    return UNet()


def _beside(a: Any, b: Any) -> Any:
    """Channels of two images one behind the other, in the library of the images."""
    if type(a).__module__.startswith("torch"):
        import torch

        return torch.cat((a, b), 1)
    return np.concatenate((a, b), 1)


def _of_forward(nn: Any, function: Callable[..., Any], *parts: Any) -> Any:
    """A module that applies a function to itself and what it is given; `parts` are modules."""

    class Made(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for k, part in enumerate(parts):
                setattr(self, f"part{k}", part)

        def forward(self, x: Any) -> Any:
            return function(x, *(getattr(self, f"part{k}") for k in range(len(parts))))

    return Made()


def _bigru(nn: Any, i: int, hidden: int) -> Any:
    gru = nn.GRU(i, hidden, batch_first=True, bidirectional=True)
    return _of_forward(nn, lambda x, gru: gru(x)[0], gru)


def _patches(nn: Any, i: int, o: int, side: int) -> Any:
    """Dosovitskiy et al., An Image is Worth 16x16 Words, 2021."""
    conv = nn.Conv2d(i, o, side, side)
    return _of_forward(nn, lambda x, conv: conv(x).reshape(x.shape[0], o, -1).swapaxes(1, 2), conv)


def _vae(nn: Any, i: int, hidden: int, code: int) -> Any:
    """Kingma, Welling, Auto-Encoding Variational Bayes, 2014."""

    def forward(x: Any, inward: Any, mean: Any, log: Any, outward: Any, last: Any) -> Any:
        h = inward(x).relu()
        drawn = noise(x.shape[0], code)
        if type(x).__module__.startswith("torch"):
            import torch

            drawn = torch.from_numpy(drawn)
        return last(outward(mean(h) + (log(h) * 0.5).exp() * drawn).relu())

    sides = ((i, hidden), (hidden, code), (hidden, code), (code, hidden), (hidden, i))
    return _of_forward(nn, forward, *(nn.Linear(*side) for side in sides))


def _pixels(nn: Any) -> Any:
    """A row for each pixel."""
    return _of_forward(nn, lambda x: x.swapaxes(1, 2).swapaxes(2, 3).reshape(-1, x.shape[1]))


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
    "conv1d": lambda nn, i, o, window, dilation: nn.Conv1d(
        i, o, window, padding=dilation * (window // 2), dilation=dilation
    ),
    "conv3d": lambda nn, i, o, window: nn.Conv3d(i, o, window),
    "patches": _patches,
    "up": _up,
    "up_tanh": _up_tanh,
    "unet": _unet,
    "bigru": _bigru,
    "vae": _vae,
    "pixels": _pixels,
    "pool3d": lambda nn, window: nn.MaxPool3d(window),
    "time_mean": lambda nn: _of_forward(nn, lambda x: x.mean(-1)),
    "token_mean": lambda nn: _of_forward(nn, lambda x: x.mean(1)),
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
