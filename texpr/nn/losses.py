"""Losses: modules of the output and the target that give one number."""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.module import Module
from texpr.support.errors import CallError


class Loss(Module):
    """Base of losses that are computed per element and then averaged (`mean`), added (`sum`) or left alone (`none`).

    Attributes:
        labels: whether targets are class numbers (i64) rather than floats.
    """

    labels = False

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise CallError(f"{type(self).__name__}: reduction is {reduction!r}, expected mean, sum or none", code="arguments")
        self.reduction = reduction

    def forward(self, output: Any, target: Any) -> Any:
        each = self.each(output, target)
        if self.reduction == "none":
            return each
        return ops.mean_all(each) if self.reduction == "mean" else ops.sum_all(each)

    def each(self, output: Any, target: Any) -> Any:
        """The loss of every element."""
        raise NotImplementedError(f"{type(self).__name__} has no `each`")

    def extra_repr(self) -> str:
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class CrossEntropyLoss(Loss):
    """-log(softmax(output)[target]): output (batch, classes) before softmax, target (batch) i64 class numbers.

    Computed from the logits as log-sum-exp, so it does not overflow.
    """

    labels = True

    def each(self, output: Any, target: Any) -> Any:
        return ops.cross_entropy(output, target)


class MSELoss(Loss):
    """(output - target)^2; both have one shape."""

    def each(self, output: Any, target: Any) -> Any:
        return ops.squared_error(output, target)
