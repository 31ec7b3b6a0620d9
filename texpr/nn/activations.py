"""Functions of single elements, as layers."""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.module import Module


class ReLU(Module):
    """max(x, 0)"""

    def forward(self, x: Any) -> Any:
        return ops.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        return ops.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))"""

    def forward(self, x: Any) -> Any:
        return ops.sigmoid(x)


class Softmax(Module):
    """exp(x) over the sum of exp(x) along axis `dim`."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Any) -> Any:
        return ops.softmax(x, axis=self.dim % x.ndim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Identity(Module):
    """x"""

    def forward(self, x: Any) -> Any:
        return x
