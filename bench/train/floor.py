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
    field = field[1:] if len(field) == 3 else field
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
            case "tokens", []:
                rows *= field[0]
