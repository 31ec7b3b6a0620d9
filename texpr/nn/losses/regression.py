"""Losses of differences, of distributions, and of pairs and triples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number
from texpr.nn.core.layer_operations import broadcast
from texpr.nn.losses.loss import REDUCTIONS, Loss, as_float
from texpr.nn.modules.distance import PairwiseDistance


class L1Loss(Loss):
    """|input - target|"""

    def each(self, input: Any, target: Any) -> Any:
        return ops.l1_loss(input, as_float(target, input))


class MSELoss(Loss):
    """(input - target)^2; both have one shape."""

    def each(self, input: Any, target: Any) -> Any:
        return ops.squared_error(input, as_float(target, input))


class SmoothL1Loss(Loss):
    """d^2 / (2 beta) where d = |input - target| < beta, else d - beta/2. Girshick, Fast R-CNN,
    2015.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = number("SmoothL1Loss", "beta", beta)

    def each(self, input: Any, target: Any) -> Any:
        target = as_float(target, input)
        return (
            ops.smooth_l1_loss(input, target, beta=self.beta) if self.beta > 0 else ops.l1_loss(input, target)
        )


class HuberLoss(Loss):
    """d^2 / 2 where d = |input - target| <= delta, else delta (d - delta/2). Huber, 1964."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = number("HuberLoss", "delta", delta, 1e-300)

    def each(self, input: Any, target: Any) -> Any:
        return ops.huber_loss(input, as_float(target, input), delta=self.delta)


class PoissonNLLLoss(Loss):
    """exp(input) - target input, or input - target log(input + eps) where the input is no
    logarithm; `full` adds about log(target!).
    """

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
            input, as_float(target, input), log_input=self.log_input, full=self.full, eps=self.eps
        )


class GaussianNLLLoss(Loss):
    """(log var + (input - target)^2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2. Nix
    and Weigend, 1994.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = bool(full), number("GaussianNLLLoss", "eps", eps)

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        """The loss; var has the shape of the input, or 1 for its last axis, or lacks that."""
        var = ops.expand(var, axis=var.ndim, times=1) if var.ndim == input.ndim - 1 else var
        each = ops.gaussian_nll_loss(
            input, as_float(target, input), broadcast(var, input.shape), eps=self.eps
        )
        return self.reduced(each + 0.9189385332046727 if self.full else each)


class KLDivLoss(Loss):
    """target (log target - input) with log-probabilities as input, and as target with log_target.
    Kullback and Leibler, 1951.

    The reduction "batchmean" divides the sum by the length of axis 0.
    """

    reductions = (*REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = bool(log_target)

    def each(self, input: Any, target: Any) -> Any:
        return (
            ops.kl_div_log(input, as_float(target, input))
            if self.log_target
            else ops.kl_div(input, as_float(target, input))
        )

    def reduced(self, each: Any) -> Any:
        if self.reduction != "batchmean":
            return super().reduced(each)
        return ops.sum_all(each) / each.shape[0] if each.shape else each


class MarginRankingLoss(Loss):
    """max(0, margin - target (input1 - input2)) for targets of -1 and 1."""

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(margin)

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:
        return self.reduced(
            ops.margin_ranking_loss(input1, input2, as_float(target, input1), margin=self.margin)
        )


class HingeEmbeddingLoss(Loss):
    """x where the target is 1, max(0, margin - x) where it is -1."""

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = float(margin)

    def each(self, input: Any, target: Any) -> Any:
        return ops.hinge_embedding_loss(input, as_float(target, input), margin=self.margin)


class SoftMarginLoss(Loss):
    """log(1 + exp(-target input)) for targets of -1 and 1."""

    threshold = 0.0

    def each(self, input: Any, target: Any) -> Any:
        return ops.soft_margin_loss(input, as_float(target, input))


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) for rows that belong together (target 1), max(0, cos - margin) for
    others (target -1).

    Targets that are neither count for nothing, as in torch.
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
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with d(positive, negative) for
    the latter where `swap` and smaller.

    Balntas et al., Learning Local Feature Descriptors with Triplets, 2016.
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
    """The same with the distance of PairwiseDistance(p, eps)."""

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
