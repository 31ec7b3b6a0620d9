"""Base classes of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import DType
from texpr.nn.core.argument_checks import one_of
from texpr.nn.core.layer_operations import broadcast
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer
from texpr.support.errors import CallError

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
        of_features: True if outputs of the model are no logits, but inputs of the loss's own layer.
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
    of_features = False
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

    def weighed(self, input: Any, target: Any, weight: Any) -> Any:
        """The loss where examples have weights: a mean divides by the sum of the weights.

        Args:
            weight: (batch,), or of more axes of the losses.
        """
        each, counted = self.each_counted(input, target)
        around = weighed_places(weight, tuple(each.shape), each)
        if self.reduction == "none":
            return each * around
        total = ops.sum_all(wide(each * around))
        if self.reduction == "sum":
            return total.astype(each.dtype)
        count = ops.sum_all(wide(around if counted is None else counted * around))
        return ops.divide(total, count).astype(each.dtype)  # type: ignore[union-attr]

    def each_counted(self, input: Any, target: Any) -> tuple[Any, Any]:
        """The loss of every element, and what it counts in a mean; None for 1."""
        return self.each(input, target), None

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


def ignored_label(loss: object) -> int | None:
    """The label that counts for nothing in a loss of class numbers; None if there is none."""
    return getattr(loss, "ignore_index", None) if getattr(loss, "labels", False) else None


def as_float(target: Any, like: Any) -> Any:
    """A target in the output's dtype: integers, truth values, and floats of other bits."""
    return target if target.dtype == like.dtype else target.astype(like.dtype)


def wide(x: Any) -> Any:
    """Floats of 8 and 16 bits as f32: their sums leave such types soon."""
    return x.astype("f32") if x.dtype.bits < 32 else x


def weighed_places(weight: Any, shape: tuple[int, ...], like: Any) -> Any:
    """Weights of examples repeated to the places of their losses.

    Args:
        shape: of the losses.
        like: has their dtype.
    Raises:
        CallError: the weights have other axes than the losses.
    """
    given = tuple(weight.shape)
    if not given or given != shape[: len(given)]:
        raise CallError(
            f"sample_weight has shape {list(given)}, the losses have {list(shape)}",
            code="shape",
            help="give a weight for each example, or for each element of the loss",
        )
    weight = as_float(weight, like)
    while weight.ndim < len(shape):
        weight = ops.expand(weight, axis=weight.ndim, times=shape[weight.ndim])
    return weight


def paired(loss: Loss, input: Any, target: Any) -> Any:
    """The target of a loss of elements, in the output's dtype.

    Raises:
        CallError: it has another shape than the output.
    """
    if tuple(target.shape) != tuple(input.shape):
        raise CallError(
            f"{type(loss).__name__}: the target has shape {list(target.shape)}, expected that of the output, "
            f"{list(input.shape)}",
            code="shape",
            help=_way_out(tuple(input.shape), tuple(target.shape)),
        )
    return as_float(target, input)


def _way_out(output: tuple[int, ...], target: tuple[int, ...]) -> str:
    """Help for a target of another shape than the output."""
    if output == (*target, 1):
        return (
            "give the target an axis: y[:, None]"
            if len(target) == 1
            else "give the target an axis: y[..., None]"
        )
    if target == (*output, 1):
        return "take the axis of length 1 away: y[..., 0]"
    if len(output) == len(target) and sorted(output) == sorted(target):
        return "the axes are in another order: y.transpose(...)"
    return "losses do not broadcast: repeat the target, such as by np.broadcast_to"


class WeightedLoss(Loss):
    """Base of losses with a tensor of weights, a buffer as torch has it."""

    weight: Buffer | None

    def __init__(self, weight: object = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", None if weight is None else np.asarray(weight))

    def _input_dtype(self) -> DType | None:
        """Outputs and targets stay what they are, whatever the dtype of the weights."""
        return None

    def weighted(self, each: Any) -> Any:
        """Each times its weight, which is repeated to the shape of the losses."""
        weight = self.weight_for(each)
        return each if weight is None else each * broadcast(weight, each.shape)

    def weight_for(self, input: Any) -> Any:
        """The weights in the dtype of a tensor; None without weights."""
        return None if self.weight is None else as_float(input.capture.variable(self.weight), input)
