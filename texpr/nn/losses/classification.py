"""Losses of classes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr import ops
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy import Tensor
from texpr.nn.core.argument_checks import number
from texpr.nn.core.layer_operations import broadcast, present
from texpr.nn.core.parameter import Buffer
from texpr.nn.data.checks import check_labels
from texpr.nn.losses.loss import Loss, WeightedLoss, as_float, paired, wide
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


class _OfLabels(WeightedLoss):
    """Base of losses whose targets are class numbers: input is (batch, classes, ...), target
    (batch, ...), or without the batch.

    The mean divides by the weights of the targets that count. Where none does, it is NaN, as torch
    has it.
    """

    labels = True

    def __init__(self, weight: object = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.ignore_index = int(ignore_index)

    if not TYPE_CHECKING:  # types are those of modules

        @boundary
        def __call__(self, input: Any, target: Any) -> Any:
            """The loss; targets that are arrays are checked.

            Raises:
                CallError: a target is neither a class nor ignore_index.
            """
            known = to_host(target.realize().value) if isinstance(target, Tensor) else target
            shape = tuple(input.shape) if hasattr(input, "shape") else np.shape(input)
            if isinstance(known, np.ndarray) and known.dtype.kind in "iu" and shape:
                check_labels(known, self.classes(shape), self.ignore_index)
            return super().__call__(input, target)

    def each_counted(self, input: Any, target: Any) -> tuple[Any, Any]:
        axis = min(input.ndim - 1, 1)
        check_places(type(self).__name__, tuple(input.shape), tuple(target.shape), axis)
        return self.counted(input, target, axis)

    def forward(self, input: Any, target: Any) -> Any:
        each, counted = self.each_counted(input, target)
        if self.reduction == "mean":
            return ops.divide(*(ops.sum_all(wide(x)) for x in (each, counted))).astype(each.dtype)
        return self.reduced(each)

    def counted(self, input: Any, target: Any, axis: int) -> tuple[Any, Any]:
        """The loss of every target, and what it counts, with the classes on this axis."""
        raise NotImplementedError(f"{type(self).__name__} has no `counted`")


class NLLLoss(_OfLabels):
    """Negative log-likelihood: `-weight[target] input[target]` of log-probabilities, over the sum
    of these weights.

    Args:
        weight: of each class, a tensor (classes,).
        ignore_index: a target that counts for nothing.
        reduction: "mean", "sum" or "none".
    Shapes:
        input: (batch, classes, ...), or (classes,)
        target: (batch, ...), or (), class numbers of any integer type
        output: (), or the shape of the target without reduction
    Raises:
        CallError: a target is neither a class nor `ignore_index`, shapes do not fit, or another
            reduction.
    Example:
        >>> nn.NLLLoss()(tx.tensor([[0.5, 0.5]]).log(), tx.tensor([1]))
        tensor(0.69314718, f64[])
    """

    is_likelihood = True

    def counted(self, input: Any, target: Any, axis: int) -> tuple[Any, Any]:
        return ops.nll_loss_ignoring(
            input, target, **present(weight=self.weight_for(input)), axis=axis, ignore=self.ignore_index
        )


class CrossEntropyLoss(_OfLabels):
    """Cross entropy of logits: `-log(softmax(input)[target])`.

    It is computed as log-sum-exp, so it does not overflow. Targets are class numbers, or
    probabilities in the input's shape and dtype, whose mean is over batch and places. Label
    smoothing: Szegedy et al., Rethinking the Inception Architecture, 2016.

    Args:
        weight: of each class, a tensor (classes,).
        ignore_index: a target that counts for nothing.
        label_smoothing: this share of the target goes to all classes alike.
        reduction: "mean", "sum" or "none".
    Shapes:
        input: (batch, classes, ...), or (classes,)
        target: (batch, ...), or (), class numbers; or the shape of the input, probabilities
        output: (), or (batch, ...) without reduction
    Raises:
        CallError: a target is neither a class nor `ignore_index`, shapes do not fit, or another
            reduction.
    Example:
        >>> nn.CrossEntropyLoss()(tx.tensor([[0.0, 0.0]]), tx.tensor([1]))
        tensor(0.69314718, f64[])
    """

    is_likelihood = True

    def __init__(
        self,
        weight: object = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)
        self.label_smoothing = number(
            "CrossEntropyLoss", "label_smoothing", label_smoothing, 0.0, 1.0 + 1e-12
        )

    def forward(self, input: Any, target: Any) -> Any:
        if not target.dtype.is_float:
            return super().forward(input, target)
        return self.reduced(self.each_counted(input, target)[0])

    def each_counted(self, input: Any, target: Any) -> tuple[Any, Any]:
        if not target.dtype.is_float:
            return super().each_counted(input, target)
        constants = self._constants(input, min(input.ndim - 1, 1))
        return ops.cross_entropy_soft_places(input, paired(self, input, target), **constants), None

    def counted(self, input: Any, target: Any, axis: int) -> tuple[Any, Any]:
        return ops.cross_entropy_ignoring(
            input, target, **self._constants(input, axis), ignore=self.ignore_index
        )

    def _constants(self, input: Any, axis: int) -> dict[str, Any]:
        return {**present(weight=self.weight_for(input)), "axis": axis, "smoothing": self.label_smoothing}


class BCELoss(WeightedLoss):
    """Binary cross entropy of probabilities: `-(target log input + (1 - target) log(1 - input))`.

    Logarithms are at least -100, as in torch.

    Args:
        weight: of each element, repeated to the shape of the input.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.BCELoss()(tx.tensor([0.5]), tx.tensor([1.0]))
        tensor(0.69314718, f64[])
    """

    threshold = 0.5

    def each(self, input: Any, target: Any) -> Any:
        return self.weighted(ops.bce_loss(input, paired(self, input, target)))


class BCEWithLogitsLoss(WeightedLoss):
    """Binary cross entropy of logits: BCELoss of `sigmoid(input)`, without overflow.

    Args:
        weight: of each element, repeated to the shape of the input.
        pos_weight: of the positives, over the last axes.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.BCEWithLogitsLoss()(tx.tensor([0.0]), tx.tensor([1.0]))
        tensor(0.69314718, f64[])
    """

    threshold = 0.0
    pos_weight: Buffer | None

    def __init__(self, weight: object = None, *, reduction: str = "mean", pos_weight: object = None) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", None if pos_weight is None else np.asarray(pos_weight))

    def each(self, input: Any, target: Any) -> Any:
        target = paired(self, input, target)
        if self.pos_weight is None:
            return self.weighted(ops.bce_with_logits(input, target))
        shape = input.shape[input.ndim - self.pos_weight.ndim :]
        count = broadcast(as_float(input.capture.variable(self.pos_weight), input), shape)
        return self.weighted(ops.bce_with_logits_weighted(input, target, count))


class MultiMarginLoss(WeightedLoss):
    """Hinge loss of several classes: the mean over the classes of
    `max(0, margin - x_target + x)^p`, the target's own left out of the sum.

    Weston and Watkins, Support Vector Machines for Multi-Class Pattern Recognition, 1999.

    Args:
        p: 1 or 2.
        margin: the difference that is enough.
        weight: of each class, a tensor (classes,).
        reduction: "mean", "sum" or "none".
    Shapes:
        input: (batch, classes), or (classes,)
        target: (batch,), or (), class numbers
        output: (), or the shape of the target without reduction
    Raises:
        CallError: `p` is neither 1 nor 2, a target is no class, shapes do not fit, or another
            reduction.
    Example:
        >>> nn.MultiMarginLoss()(tx.tensor([[0.5, 1.0]]), tx.tensor([1]))
        tensor(0.25, f64[])
    """

    labels = True

    def __init__(
        self, p: float = 1, margin: float = 1.0, weight: object = None, *, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        if p not in (1, 2):
            raise CallError(f"MultiMarginLoss: p is {p!r}, expected 1 or 2", code="arguments")
        self.p, self.margin = float(p), float(margin)

    def each(self, input: Any, target: Any) -> Any:
        def rows(x: Any, t: Any) -> Any:
            return ops.multi_margin_loss(
                x, t, **present(weight=self.weight_for(x)), p=self.p, margin=self.margin
            )

        return _by_rows(rows, input, target)


class MultiLabelMarginLoss(Loss):
    """Hinge loss of several labels: the sum over pairs of a class i that belongs and a class j that
    does not of `max(0, 1 - (x_i - x_j))`, over the number of classes.

    Args:
        reduction: "mean", "sum" or "none".
    Shapes:
        input: (batch, classes), or (classes,)
        target: the shape of the input, integers: the classes that belong, then -1
        output: (), or (batch,) without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.MultiLabelMarginLoss()(tx.tensor([[0.5, 1.0]]), tx.tensor([[1, -1]]))
        tensor(0.25, f64[])
    """

    def each(self, input: Any, target: Any) -> Any:
        return _by_rows(ops.multilabel_margin_loss_listed, input, target)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """Binary cross entropy of several labels: the mean over the classes of that of `sigmoid(input)`
    with targets 0 and 1.

    Args:
        weight: of each class, a tensor (classes,).
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (batch, classes), or (classes,)
        output: (), or (batch,) without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.MultiLabelSoftMarginLoss()(tx.tensor([[0.0, 0.0]]), tx.tensor([[1.0, 0.0]]))
        tensor(0.69314718, f64[])
    """

    threshold = 0.0

    def __init__(self, weight: object = None, *, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)

    def each(self, input: Any, target: Any) -> Any:
        def rows(x: Any, t: Any) -> Any:
            return ops.multilabel_soft_margin_loss(x, t, **present(weight=self.weight_for(x)))

        return _by_rows(rows, input, paired(self, input, target))


def check_places(owner: str, output: tuple[int, ...], target: tuple[int, ...], axis: int) -> None:
    """Check that there is one class number for each place of the output.

    Raises:
        CallError: there are others; the help says how the axes are meant.
    """
    expected = output[:axis] + output[axis + 1 :]
    if target == expected:
        return
    if target == output:
        help = "class numbers: y.argmax(1); or probabilities: y.astype(np.float32)"
    elif target == output[:-1]:
        axes = ", ".join(map(str, (0, len(output) - 1, *range(1, len(output) - 1))))
        help = f"the classes lie on axis 1: let the model end in output.permute({axes})"
    elif tuple(n for n in target if n != 1) == tuple(n for n in expected if n != 1):
        help = "take the axis of length 1 away: y.squeeze(1)" if len(target) > len(expected) else ""
    elif sorted(target) == sorted(expected):
        help = "the axes of the targets are in another order: y.transpose(...)"
    else:
        help = "the output is (batch, classes, ...), the targets are (batch, ...)"
    raise CallError(
        f"{owner}: the targets have shape {list(target)}, expected {list(expected)}, for outputs "
        f"{list(output)} with the classes on axis {axis}",
        code="shape",
        help=help,
    )


def _by_rows(each: Callable[[Any, Any], Any], input: Any, target: Any) -> Any:
    """A loss of every row of (batch, classes), also for tensors without a batch or with more
    axes before the classes.
    """
    if input.ndim == 2 or not input.ndim:
        return each(input, target)
    around, rows = input.shape[:-1], (prod(input.shape[:-1]), input.shape[-1])
    return each(input.reshape(rows), target.reshape(rows if target.ndim == input.ndim else rows[:1])).reshape(
        around
    )
