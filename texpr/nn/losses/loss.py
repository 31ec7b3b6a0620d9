"""Base classes of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.nn.core.argument_checks import one_of
from texpr.nn.core.layer_operations import broadcast
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer

REDUCTIONS = ("mean", "sum", "none")


class Loss(Module):
    """Base of losses that are computed per element and then reduced.

    A loss of one's own defines `each(output, target)` in operators. torch's `size_average` and
    `reduce` do not exist.

    Args:
        reduction: "mean", "sum" or "none".
    Attributes:
        labels: True if targets are class numbers rather than floats.
        ignore_index: a target that is no class and counts for nothing.
        threshold: for losses of yes and no, the output above which the answer is yes.
        of_numbers: True if targets are numbers, of which none is right or wrong.
        is_likelihood: True for the negative log-likelihood of classes.
    Shapes:
        input, target: as `each` takes them
        output: (), or that of `each` without reduction
    Raises:
        CallError: another reduction.
    Example:
        >>> class Quartic(nn.Loss):
        ...     def each(self, input, target):
        ...         return (input - target) ** 4
        >>> Quartic()(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
        tensor(8., f64[])
    """

    labels = False
    ignore_index: int | None = None
    threshold: float | None = None
    of_numbers = False
    is_likelihood = False
    reductions = REDUCTIONS

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = one_of(type(self).__name__, "reduction", reduction, self.reductions)

    @staticmethod
    def classes(shape: tuple[int, ...]) -> int:
        """Number of classes, from the shape of the model's output."""
        return shape[min(len(shape) - 1, 1)]

    def forward(self, input: Any, target: Any) -> Any:
        return self.reduced(self.each(input, target))

    def each(self, input: Any, target: Any) -> Any:
        """The loss of every element."""
        raise NotImplementedError(f"{type(self).__name__} has no `each`")

    def reduced(self, each: Any) -> Any:
        """The mean, the sum, or all."""
        if self.reduction == "none":
            return each
        return ops.mean_all(each) if self.reduction == "mean" else ops.sum_all(each)

    def extra_repr(self) -> str:
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


def as_float(target: Any, like: Any) -> Any:
    """A target of integers or truth values as floats of the output's dtype."""
    return target if target.dtype.is_float else target.astype(like.dtype)


class WeightedLoss(Loss):
    """Base of losses with a tensor of weights, a buffer as torch has it."""

    weight: Buffer | None

    def __init__(self, weight: object = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", None if weight is None else np.asarray(weight))

    def weighted(self, each: Any) -> Any:
        """Each times its weight, which is repeated to the shape of the losses."""
        if self.weight is None:
            return each
        return each * broadcast(each.capture.variable(self.weight), each.shape)
