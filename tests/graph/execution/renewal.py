"""Networks and what new ones with their weights give."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from texpr import nn

T = TypeVar("T", bound=nn.Module)


def network(kind: type[T]) -> T:
    """A network with weights that are the same each time."""
    nn.manual_seed(0)
    return kind().eval()


def expected(net: nn.Module, x: np.ndarray) -> np.ndarray:
    """Result of a new network with these weights, which has kept nothing."""
    other = type(net)().eval()
    other.load_state_dict(net.state_dict())
    return other(x)
