"""Likenesses and distances of vectors."""

from __future__ import annotations

from math import inf
from typing import Any

from texpr import ops
from texpr.graph.arrays.operator_texts import broadcast
from texpr.nn.core.argument_checks import number
from texpr.nn.core.module import Module


def _alike(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both in the shape to which they broadcast."""
    shape = broadcast([x1.shape, x2.shape])
    return x1.broadcast_to(shape), x2.broadcast_to(shape)


class CosineSimilarity(Module):
    """x1.x2 / (|x1| |x2|) along axis `dim`; norms are at least eps."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, number("CosineSimilarity", "eps", eps)

    def forward(self, x1: Any, x2: Any) -> Any:
        x1, x2 = _alike(x1, x2)
        return ops.cosine_similarity(x1, x2, axis=self.dim % x1.ndim, eps=self.eps)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, eps={self.eps:g}"


class PairwiseDistance(Module):
    """(sum over the last axis of |x1 - x2 + eps|^p)^(1/p), or the largest |x1 - x2 + eps| where
    p is infinite.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = inf if p == inf else number("PairwiseDistance", "p", p, 1e-300)
        self.eps, self.keepdim = number("PairwiseDistance", "eps", eps), bool(keepdim)

    def forward(self, x1: Any, x2: Any) -> Any:
        x1, x2 = _alike(x1, x2)
        if self.norm == inf:
            y = ops.norm_max((x1 - x2) + self.eps, axis=x1.ndim - 1)
        else:
            y = ops.row_distance_p(x1, x2, p=self.norm, eps=self.eps)
        return ops.expand(y, axis=x1.ndim - 1, times=1) if self.keepdim else y

    def extra_repr(self) -> str:
        return f"p={self.norm:g}, eps={self.eps:g}"
