"""A softmax over very many classes, the rare ones in clusters of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from texpr import ops
from texpr.nn.core.argument_checks import number, whole
from texpr.nn.core.module import Module
from texpr.nn.data.checks import check_labels
from texpr.nn.modules.containers import ModuleList, Sequential
from texpr.nn.modules.linear import Linear
from texpr.support.errors import CallError


class Likelihood(NamedTuple):
    """Result of AdaptiveLogSoftmaxWithLoss: log-probabilities of the targets (batch), and minus
    their mean.
    """

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of many classes by clusters:
    `log p(class | x) = log p(cluster | x) + log p(class | cluster, x)`.

    The first classes are clusters of their own. Every cluster is computed for every example,
    because shapes do not depend on data here. Grave et al., Efficient Softmax Approximation for
    GPUs, 2017.

    Args:
        cutoffs: classes below the first one are in the head; then each cluster ends, in increasing
            order.
        div_value: cluster k projects to in_features / div_value^(k + 1) numbers first.
    Shapes:
        input: (batch, in_features), or (in_features,)
        target: (batch,), or (), class numbers
        output: a pair (output, loss) of shapes (batch,) and ()
    Raises:
        CallError: `cutoffs` are no increasing numbers below `n_classes`, a size is below 1, or the
            shapes do not fit.
    Example:
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[2, 6])
        >>> output, loss = layer(tx.randn(4, 16), tx.tensor([0, 1, 5, 9]))
        >>> output.shape, loss.shape
        ((4,), ())
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_features, self.n_classes = (
            whole(name, "in_features", in_features),
            whole(name, "n_classes", n_classes),
        )
        ends = [whole(name, f"cutoffs[{k}]", c) for k, c in enumerate(cutoffs)]
        if not ends or ends != sorted(set(ends)) or ends[-1] >= self.n_classes:
            raise CallError(
                f"{name}: cutoffs is {list(cutoffs)}, expected increasing numbers below {n_classes}",
                code="arguments",
            )
        self.cutoffs, self.div_value = [*ends, self.n_classes], number(name, "div_value", div_value, 1e-9)
        self.head_bias = bool(head_bias)
        self.head = Linear(self.in_features, ends[0] + len(ends), self.head_bias, dtype=dtype)
        self.tail = ModuleList()
        for k, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(self.in_features // self.div_value ** (k + 1))
            self.tail.append(
                Sequential(
                    Linear(
                        self.in_features, whole(name, f"the width of cluster {k}", width), False, dtype=dtype
                    ),
                    Linear(width, end - start, False, dtype=dtype),
                )
            )

    def __call__(self, input: Any, target: Any) -> Any:
        """The likelihood; targets that are arrays are checked.

        Raises:
            CallError: a target is no class.
        """
        if isinstance(target, np.ndarray) and target.dtype.kind in "iu":
            check_labels(target, self.n_classes)
        return super().__call__(input, target)

    def forward(self, input: Any, target: Any) -> Likelihood:
        if input.ndim != 2 or target.shape != input.shape[:1]:
            raise CallError(
                f"{type(self).__name__}: the input is {list(input.shape)} and the target "
                f"{list(target.shape)}, expected "
                f"[batch, {self.in_features}] and [batch]",
                code="shape",
            )
        each = ops.nll_loss(self._scores(input), target)
        return Likelihood(-each, each.mean())

    def _scores(self, x: Any) -> Any:
        """Log-probabilities of all classes, (batch, classes)."""
        first = self.cutoffs[0]
        head = ops.log_softmax(self.head(x), axis=1)
        parts = [head[:, :first]]
        for k, cluster in enumerate(self.tail):
            parts.append(ops.log_softmax(cluster(x), axis=1) + head[:, first + k : first + k + 1])
        return ops.concat(parts, axis=1)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}"
