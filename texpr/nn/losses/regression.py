"""Losses of differences, of distributions, and of pairs and triples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number
from texpr.nn.core.layer_operations import broadcast
from texpr.nn.losses.loss import REDUCTIONS, Loss, as_float, paired, weighed_places, wide
from texpr.nn.modules.distance import PairwiseDistance


class L1Loss(Loss):
    """Absolute error: the mean of `|input - target|`.

    Args:
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.L1Loss()(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
        tensor(1., f64[])
    """

    of_numbers = True

    def each(self, input: Any, target: Any) -> Any:
        return ops.l1_loss(input, paired(self, input, target))


class MSELoss(Loss):
    """Squared error: the mean of `(input - target)^2`.

    Args:
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.MSELoss()(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
        tensor(2., f64[])
    """

    of_numbers = True

    def each(self, input: Any, target: Any) -> Any:
        return ops.squared_error(input, paired(self, input, target))


class SmoothL1Loss(Loss):
    """Smooth absolute error: `d^2 / (2 beta)` if `d = |input - target| < beta`, else `d - beta/2`.

    Girshick, Fast R-CNN, 2015.

    Args:
        beta: the bound between square and line.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, another reduction, or `beta` is below 0.
    Example:
        >>> nn.SmoothL1Loss()(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
        tensor(0.75, f64[])
    """

    of_numbers = True

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = number("SmoothL1Loss", "beta", beta)

    def each(self, input: Any, target: Any) -> Any:
        target = paired(self, input, target)
        return (
            ops.smooth_l1_loss(input, target, beta=self.beta) if self.beta > 0 else ops.l1_loss(input, target)
        )


class HuberLoss(Loss):
    """Huber loss: `d^2 / 2` if `d = |input - target| <= delta`, else `delta (d - delta/2)`.

    Huber, Robust Estimation of a Location Parameter, 1964.

    Args:
        delta: the bound between square and line.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, another reduction, or `delta` is not above 0.
    Example:
        >>> nn.HuberLoss()(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
        tensor(0.75, f64[])
    """

    of_numbers = True

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = number("HuberLoss", "delta", delta, 1e-300)

    def each(self, input: Any, target: Any) -> Any:
        return ops.huber_loss(input, paired(self, input, target), delta=self.delta)


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts: `exp(input) - target input`, or
    `input - target log(input + eps)` without `log_input`.

    Args:
        log_input: the input is the logarithm of the rate.
        full: add Stirling's approximation of log(target!).
        eps: keeps the logarithm finite.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, another reduction, or `eps` is below 0.
    Example:
        >>> nn.PoissonNLLLoss()(tx.tensor([0.0]), tx.tensor([2.0]))
        tensor(1., f64[])
    """

    of_numbers = True

    def __init__(
        self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = (
            bool(log_input),
            bool(full),
            number("PoissonNLLLoss", "eps", eps),
        )

    def each(self, input: Any, target: Any) -> Any:
        return ops.poisson_nll_loss(
            input, paired(self, input, target), log_input=self.log_input, full=self.full, eps=self.eps
        )


class GaussianNLLLoss(Loss):
    """Negative log-likelihood of normal numbers: `(log var + (input - target)^2 / var) / 2`.

    Nix and Weigend, Estimating the Mean and Variance of the Target Probability Distribution, 1994.

    Args:
        full: add log(2 pi) / 2.
        eps: the least variance.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        var: the shape of the input, or with 1 for the last axis, or without it
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes do not fit, another reduction, or `eps` is below 0.
    Example:
        >>> nn.GaussianNLLLoss()(tx.tensor([1.0]), tx.tensor([3.0]), tx.tensor([1.0]))
        tensor(2., f64[])
    """

    of_numbers = True

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = bool(full), number("GaussianNLLLoss", "eps", eps)

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        """The loss; var has the shape of the input, or 1 for its last axis, or lacks that."""
        var = ops.expand(var, axis=var.ndim, times=1) if var.ndim == input.ndim - 1 else var
        each = ops.gaussian_nll_loss(
            input, paired(self, input, target), broadcast(as_float(var, input), input.shape), eps=self.eps
        )
        return self.reduced(each + 0.9189385332046727 if self.full else each)


class KLDivLoss(Loss):
    """Kullback-Leibler divergence: `target (log target - input)`, with log-probabilities as input.

    Kullback and Leibler, On Information and Sufficiency, 1951.

    Args:
        log_target: the targets are log-probabilities too.
        reduction: "mean", "sum", "none", or "batchmean", the sum over the extent of axis 0.
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.KLDivLoss("batchmean")(tx.tensor([[0.5, 0.5]]).log(), tx.tensor([[0.5, 0.5]]))
        tensor(0., f64[])
    """

    reductions = (*REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = bool(log_target)

    def each(self, input: Any, target: Any) -> Any:
        return (
            ops.kl_div_log(input, paired(self, input, target))
            if self.log_target
            else ops.kl_div(input, paired(self, input, target))
        )

    def reduced(self, each: Any) -> Any:
        if self.reduction != "batchmean":
            return super().reduced(each)
        return ops.sum_all(each) / each.shape[0] if each.shape else each

    def weighed(self, input: Any, target: Any, weight: Any) -> Any:
        """With "batchmean", the weighted sum over the sum of the weights."""
        if self.reduction != "batchmean":
            return super().weighed(input, target, weight)
        each = self.each(input, target)
        around = weighed_places(weight, tuple(each.shape), each)
        return ops.sum_all(wide(each * around)) / ops.sum_all(wide(as_float(weight, each)))


class MarginRankingLoss(Loss):
    """Ranking loss: `max(0, margin - target (input1 - input2))` for targets of -1 and 1.

    Args:
        margin: the distance that is enough.
        reduction: "mean", "sum" or "none".
    Shapes:
        input1, input2, target: (*), one shape
        output: (), or the shape of the inputs without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.MarginRankingLoss(margin=1.0)(tx.tensor([2.0]), tx.tensor([1.5]), tx.tensor([1.0]))
        tensor(0.5, f64[])
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(margin)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return self.reduced(
            ops.margin_ranking_loss(input1, input2, as_float(target, input1), margin=self.margin)
        )


class HingeEmbeddingLoss(Loss):
    """Hinge loss of distances: `x` if the target is 1, `max(0, margin - x)` if it is -1.

    Args:
        margin: the distance that is enough.
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.HingeEmbeddingLoss()(tx.tensor([0.5, 0.5]), tx.tensor([1.0, -1.0]))
        tensor(0.5, f64[])
    """

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(margin)

    def each(self, input: Any, target: Any) -> Any:
        return ops.hinge_embedding_loss(input, paired(self, input, target), margin=self.margin)


class SoftMarginLoss(Loss):
    """Logistic loss: `log(1 + exp(-target input))` for targets of -1 and 1.

    Args:
        reduction: "mean", "sum" or "none".
    Shapes:
        input, target: (*), one shape
        output: (), or the shape of the input without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.SoftMarginLoss()(tx.tensor([0.0]), tx.tensor([1.0]))
        tensor(0.69314718, f64[])
    """

    threshold = 0.0

    def each(self, input: Any, target: Any) -> Any:
        return ops.soft_margin_loss(input, paired(self, input, target))


class CosineEmbeddingLoss(Loss):
    """Cosine loss of pairs: `1 - cos(input1, input2)` for target 1, `max(0, cos - margin)` for
    target -1.

    Other targets count for nothing, as in torch.

    Args:
        margin: the cosine that is small enough.
        reduction: "mean", "sum" or "none".
    Shapes:
        input1, input2: (batch, features), or (features,)
        target: (batch,), or ()
        output: (), or the shape of the target without reduction
    Raises:
        CallError: shapes differ, or another reduction.
    Example:
        >>> nn.CosineEmbeddingLoss()(tx.tensor([[1.0, 0.0]]), tx.tensor([[0.0, 1.0]]), tx.tensor([1.0]))
        tensor(1., f64[])
    """

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(margin)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        target = as_float(target, input1)
        if input1.ndim == 1:
            input1, input2, target = (ops.expand(x, times=1) for x in (input1, input2, target))
            each = ops.pick(ops.cosine_embedding_loss(input1, input2, target, margin=self.margin))
        else:
            each = ops.cosine_embedding_loss(input1, input2, target, margin=self.margin)
        return self.reduced(each)


class TripletMarginWithDistanceLoss(Loss):
    """Triplet loss with a distance d: `max(0, d(anchor, positive) - d(anchor, negative) + margin)`.

    Balntas et al., Learning Local Feature Descriptors with Triplets, 2016.

    Args:
        distance_function: of two tensors; PairwiseDistance() unless given.
        margin: the difference that is enough.
        swap: take d(positive, negative) for the second distance where that is smaller.
        reduction: "mean", "sum" or "none".
    Shapes:
        anchor, positive, negative: (..., features), one shape
        output: (), or (...) without reduction
    Raises:
        CallError: shapes do not fit, another reduction, or `margin` is below 0.
    Example:
        >>> nn.TripletMarginWithDistanceLoss()(tx.tensor([[0.0]]), tx.tensor([[1.0]]), tx.tensor([[1.5]]))
        tensor(0.5, f64[])
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = number(type(self).__name__, "margin", margin), bool(swap)

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        distance = self.distance_function
        far = distance(anchor, negative)
        far = ops.minimum(far, distance(positive, negative)) if self.swap else far
        return self.reduced(
            ops.triplet_margin_distance_loss(distance(anchor, positive), far, margin=self.margin)
        )


class TripletMarginLoss(TripletMarginWithDistanceLoss):
    """Triplet loss with the distance of PairwiseDistance(p, eps):
    `max(0, d(anchor, positive) - d(anchor, negative) + margin)`.

    Balntas et al., Learning Local Feature Descriptors with Triplets, 2016.

    Args:
        margin: the difference that is enough.
        p, eps: of the distance.
        swap: take d(positive, negative) for the second distance where that is smaller.
        reduction: "mean", "sum" or "none".
    Shapes:
        anchor, positive, negative: (..., features), one shape
        output: (), or (...) without reduction
    Raises:
        CallError: shapes do not fit, another reduction, or `margin` is below 0.
    Example:
        >>> nn.TripletMarginLoss()(tx.tensor([[0.0]]), tx.tensor([[1.0]]), tx.tensor([[1.5]]))
        tensor(0.5, f64[])
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        *,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            distance_function=PairwiseDistance(p, eps), margin=margin, swap=swap, reduction=reduction
        )
