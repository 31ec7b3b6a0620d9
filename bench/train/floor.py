"""The least arithmetic of a training step: the products of its layers, and of the gradients in
both factors of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from bench.train.nets import Net

FLOOR = 1.2
"""What share of the least time a step may take, whatever others take."""


def operations(net: Net) -> int:
    """Multiplications and additions of a step; padding counts. What is given to the network
    needs no gradient, unless it is words.
    """
    products = list(_products(net))
    terms = sum(products)
    if net.optimizer:
        terms = 3 * terms - (0 if net.words else products[0])
    return 2 * terms


def _products(net: Net) -> Iterator[int]:
    """Terms of the products of each layer."""
    rows, *field = net.shape
    field = field[1:] if len(field) >= 3 else field
    for kind, *given in net.layers:
        numbers: list[int] = given  # type: ignore[assignment]
        match kind, numbers:
            case "linear", [i, o]:
                yield rows * i * o
            case "conv", [i, o, window]:
                field = [n - window + 1 for n in field]
                yield rows * prod(field) * i * o * window * window
            case "pool", [window]:
                field = [n // window for n in field]
            case "conv_norm_relu", [i, o]:
                yield rows * prod(field) * i * o * 9
            case "block", [i, o, stride]:
                field = [-(-n // stride) for n in field]
                yield from (
                    rows * prod(field) * terms
                    for terms in (9 * i * o, 9 * o * o, *([i * o] if (i, stride) != (o, 1) else []))
                )
            case "lstm", [i, hidden]:
                yield from (rows * field[0] * 4 * hidden * inputs for inputs in (i, hidden))
            case "encoder", [width, _, inside]:
                maps = (
                    3 * width * width,
                    field[0] * width,
                    field[0] * width,
                    width * width,
                    width * inside,
                    inside * width,
                )
                yield from (rows * field[0] * terms for terms in maps)
            case "conv1d", [i, o, window, _]:
                yield rows * field[-1] * i * o * window
            case "conv3d", [i, o, window]:
                field = [n - window + 1 for n in field]
                yield rows * prod(field) * i * o * window**3
            case "pool3d", [window]:
                field = [n // window for n in field]
            case "patches", [i, o, side]:
                field = [prod(field) // side**2]
                yield rows * field[0] * i * o * side**2
            case "up" | "up_tanh", [i, o, window, stride, pad]:
                yield rows * prod(field) * i * o * window**2
                field = [stride * (n - 1) + window - 2 * pad for n in field]
            case "unet", [i, narrow, wide, widest, o]:
                yield from _unet(rows * prod(field), i, narrow, wide, widest, o)
            case "bigru", [i, hidden]:
                yield from (rows * field[0] * 6 * hidden * inputs for inputs in (i, hidden))
            case "vae", [i, hidden, code]:
                yield from (
                    rows * terms for terms in (i * hidden, 2 * hidden * code, code * hidden, hidden * i)
                )
            case "tokens", []:
                rows *= field[0]


def _unet(pixels: int, i: int, narrow: int, wide: int, widest: int, o: int) -> Iterator[int]:
    """Terms of the products of a U-Net."""
    for share, a, b in ((1, i, narrow), (4, narrow, wide), (16, wide, widest), (4, 2 * wide, wide)):
        yield from (pixels // share * 9 * terms for terms in (a * b, b * b))
    yield from (pixels * 9 * terms for terms in (2 * narrow * narrow, narrow * narrow))
    yield from (pixels // 4 * widest * wide, pixels * wide * narrow, pixels * narrow * o)
