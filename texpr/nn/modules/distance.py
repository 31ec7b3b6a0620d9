"""Likenesses and distances of vectors."""

from __future__ import annotations

from math import inf
from typing import Any

from texpr import ops
from texpr.graph.arrays.operator_texts import broadcast
from texpr.nn.core.argument_checks import axis, number
from texpr.nn.core.module import Module


def _alike(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both in the shape to which they broadcast."""
    shape = broadcast([x1.shape, x2.shape])
    return x1.broadcast_to(shape), x2.broadcast_to(shape)


class CosineSimilarity(Module):
    """Cosine of the angle along an axis: `x1.x2 / (|x1| |x2|)`.

    Args:
        dim: the axis of the vectors.
        eps: the least norm.
    Shapes:
        x1, x2: (..., n, ...), which broadcast
        output: the shape without axis `dim`
    Raises:
        CallError: there is no axis `dim`, or the shapes do not broadcast.
    Example:
        >>> nn.CosineSimilarity()(tx.tensor([[1.0, 0.0]]), tx.tensor([[3.0, 4.0]]))
        tensor([0.6], f64[1])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, number("CosineSimilarity", "eps", eps)

    def forward(self, x1: Any, x2: Any) -> Any:
        x1, x2 = _alike(x1, x2)
        at = axis("CosineSimilarity", x1, self.dim)
        return ops.cosine_similarity(x1, x2, axis=at, eps=self.eps)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, eps={self.eps:g}"


class PairwiseDistance(Module):
    """Distance of two vectors in the p-norm: `(sum of |x1 - x2 + eps|^p)^(1/p)` over the last axis.

    For an infinite p it is the largest `|x1 - x2 + eps|`.

    Args:
        p: the order of the norm, above 0.
        eps: added to each difference.
        keepdim: keep the last axis, with extent 1.
    Shapes:
        x1, x2: (..., n)
        output: (...), or (..., 1) with `keepdim`
    Raises:
        CallError: `p` is not above 0, or the shapes do not fit.
    Example:
        >>> nn.PairwiseDistance()(tx.tensor([[0.0, 0.0]]), tx.tensor([[3.0, 4.0]]))
        tensor([4.9999986], f64[1])
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
