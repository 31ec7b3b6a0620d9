"""Cross entropy of a linear layer, a few rows at a time: no logits of all rows are there at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import op
from texpr.compiler.derived_operators import grad
from texpr.graph.capture.checkpoint_regions import ONCE_THERE
from texpr.ir.dtypes import numpy_dtype
from texpr.nn.core.argument_checks import number, whole
from texpr.nn.core.layer_operations import present
from texpr.nn.losses.classification import CrossEntropyLoss
from texpr.nn.losses.loss import WeightedLoss, weighed_places, wide
from texpr.nn.modules.linear import Linear
from texpr.support.errors import CallError

ELEMENTS = 1 << 24
"""Logits that are there at once: 64 MiB of f32. The weights are packed for the product of each
chunk: its rows are to be many beside that (`python -m bench.training_memory`).
"""
MOST_CHUNKS = 64
"""Pieces of the rows: each adds a dozen equations to the program, which is compiled as one."""
_ADD_TO = op("""op add_to<T: float>(total: T[*S], more: T[*S]) -> new: T[*S] {
  new[*s] = if more[*s] == more[*s] then total[*s] + more[*s] else more[*s]
}""")
"""The sum of two tensors, written so that no pass makes one sum of several: all its parts would be
in memory until the last one is there.
"""


class LinearCrossEntropyLoss(WeightedLoss):
    """Cross entropy of a linear layer: `CrossEntropyLoss()(linear(input), target)`, without the
    logits of all rows in memory.

    Rows are taken in chunks: logits, loss and gradient of a chunk are computed before those of the
    next one, which takes their memory. The gradient is computed with the loss, as it is linear in
    the loss's own derivative. So there are no second derivatives of it, and `reduction="none"`
    computes all logits at once. Hsu et al., Liger Kernel: Efficient Triton Kernels for LLM
    Training, 2024.

    The weight is a parameter of the loss: the optimizer takes `[*model.parameters(),
    *loss.parameters()]`, and the model's outputs are features.

    Args:
        in_features: the extent of the last axis of the input.
        num_classes: classes.
        bias: the linear layer has one.
        weight: of each class, a tensor (num_classes,).
        reduction: "mean", "sum" or "none".
        ignore_index: a target that counts for nothing.
        label_smoothing: this share of the target goes to all classes alike.
        chunk: rows of a chunk; as many as give 16 million logits unless given.
        out_features: extents of places behind the batch that have a loss each. All logits are there at
            once then, as they are where targets are probabilities.
        options: torch's `LinearCrossEntropyOptions`, of which `batch_chunk_size` is `chunk`.
        device: accepted as torch's; `to` moves the loss.
    Shapes:
        linear.weight: (num_classes * places, in_features)
        linear.bias: (num_classes * places,)
        input: (..., in_features); with places (batch, in_features)
        target: (..., *out_features), class numbers of any integer type; or (..., num_classes,
            *out_features), probabilities
        output: (), or (..., *out_features) without reduction
    Raises:
        CallError: an argument out of its range, a target that is no class, or shapes do not fit.
    Example:
        >>> loss = nn.LinearCrossEntropyLoss(8, 1000)
        >>> loss(tx.randn(32, 8), tx.zeros(32, dtype="i64")).shape
        ()
    """

    labels = True
    of_features = True

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        bias: bool = False,
        *,
        weight: object = None,
        reduction: str = "mean",
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        chunk: int | None = None,
        out_features: Sequence[int] = (),
        options: object = None,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(weight, reduction)
        self.num_classes = whole("LinearCrossEntropyLoss", "num_classes", num_classes)
        self.out_features = tuple(whole("LinearCrossEntropyLoss", "out_features", n) for n in out_features)
        outputs = self.num_classes * prod(self.out_features)
        self.linear = Linear(in_features, outputs, bias, dtype="f32" if dtype is None else dtype)
        self.ignore_index = -100 if ignore_index is None else int(ignore_index)
        chunk = getattr(options, "batch_chunk_size", None) if chunk is None else chunk
        self.label_smoothing = number(
            "LinearCrossEntropyLoss", "label_smoothing", label_smoothing, 0.0, 1.0 + 1e-12
        )
        self.chunk = None if chunk is None else whole("LinearCrossEntropyLoss", "chunk", chunk)
        if device is not None:
            self.to(str(device))

    def classes(self, shape: tuple[int, ...]) -> int:  # type: ignore[override]
        """Number of classes: that of the linear layer, whatever the shape of the features."""
        return self.num_classes

    def forward(self, input: Any, target: Any) -> Any:
        return self._reduced(input, target, None)

    def weighed(self, input: Any, target: Any, weight: Any) -> Any:
        return self._reduced(input, target, weight)

    def _reduced(self, input: Any, target: Any, weight: Any) -> Any:
        places = tuple(input.shape[:-1])
        classes = (self.num_classes,) if target.dtype.is_float else ()
        if tuple(target.shape) != (*places, *classes, *self.out_features):
            raise CallError(
                f"LinearCrossEntropyLoss: the targets are {target.dtype}{list(target.shape)}, expected class "
                f"numbers of shape {[*places, *self.out_features]}, or probabilities of "
                f"{[*places, self.num_classes, *self.out_features]}",
                code="shape",
                help="the input has features on its last axis, and a target for each of the others",
            )
        if self.out_features or target.dtype.is_float:
            return self._of_all(input, target, weight)
        rows = prod(places)
        input, target = input.reshape((rows, input.shape[-1])), target.reshape((rows,))
        if weight is not None:
            weight = weighed_places(weight, places, input).reshape((rows,))
        if self.reduction == "none":
            each = self._each(self.linear(input), target)[0]
            return (each if weight is None else each * weight).reshape(places)
        total, count = self._sums(input, target, weight)
        return (total if self.reduction == "sum" else ops.divide(total, count)).astype(input.dtype)

    def _of_all(self, input: Any, target: Any, weight: Any) -> Any:
        """The loss of logits that are all there at once: of places, or of probabilities."""
        loss = CrossEntropyLoss(reduction=self.reduction, label_smoothing=self.label_smoothing)
        loss.ignore_index = self.ignore_index
        object.__setattr__(loss, "weight", self.weight)  # this loss's own buffer, on its device
        places = tuple(input.shape[:-1])
        if self.out_features and len(places) > 1:
            raise CallError(
                f"LinearCrossEntropyLoss: the input has shape {list(input.shape)}, expected two axes with "
                f"out_features {list(self.out_features)}",
                code="shape",
                help="input.reshape(-1, in_features)",
            )
        rows = places if len(places) < 2 else (prod(places),)
        logits = self.linear(input).reshape((*rows, self.num_classes, *self.out_features))
        if len(places) > 1:
            target = target.reshape((*rows, self.num_classes))
        found = loss.forward(logits, target) if weight is None else loss.weighed(logits, target, weight)
        return found.reshape(places) if len(places) > 1 and self.reduction == "none" else found

    def _sums(self, input: Any, target: Any, weight: Any) -> tuple[Any, Any]:
        """The sum of the losses, and what it counts."""
        rows, size = input.shape[0], self._chunk(input.shape[0])
        pieces = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
        parts = [
            (input[p], target[p], None if weight is None else weight[p])
            if len(pieces) > 1
            else (input, target, weight)
            for p in pieces
        ]
        if len(parts) > 1 and self.training:
            return self._with_gradients(input, parts)
        found = [self._of_logits(self.linear(x), t, w) for x, t, w in parts]
        return tuple(_added(column) for column in zip(*found))  # type: ignore[return-value]

    def _chunk(self, rows: int) -> int:
        """Rows of a chunk."""
        least = -(-rows // MOST_CHUNKS)
        return self.chunk or max(ELEMENTS // self.linear.out_features, least, 1)

    def _each(self, logits: Any, target: Any) -> tuple[Any, Any]:
        return ops.cross_entropy_ignoring(
            logits, target, **present(weight=self.weight_for(logits)), **self._constants()
        )

    def _constants(self) -> dict[str, Any]:
        return {"axis": 1, "ignore": self.ignore_index, "smoothing": self.label_smoothing}

    def _of_logits(self, logits: Any, target: Any, weight: Any) -> tuple[Any, Any]:
        each, counted = self._each(logits, target)
        if weight is not None:
            each, counted = each * weight, counted * weight
        return ops.sum_all(wide(each)), ops.sum_all(wide(counted))

    def _with_gradients(self, input: Any, parts: list[tuple[Any, Any, Any]]) -> tuple[Any, Any]:
        """The sums with the gradients of the first one, which are computed chunk by chunk.

        `stop(total) + sum(stop(d) * (x - stop(x)))` has the value of `total`, and `d` times its
        own derivative as the derivative in `x`.
        """
        capture = input.capture
        variables = [v for v in (self.linear.weight, self.linear.bias) if v is not None]
        weights = [capture.variable(v) for v in variables]
        fixed = [w.detach() for w in weights]
        totals, counts, d_input = [], [], []
        sums: list[Any] = []
        for x, target, weight in parts:
            # A chunk waits for the sums of the one before: its logits take the same memory.
            x = x.detach() if not sums else ONCE_THERE(x.detach(), sums[0].reshape((sums[0].size,)))
            logits = ops.linear(x, *fixed)
            total, count = self._of_logits(logits, target, weight)
            d_logits = self._d_logits(logits, target, weight)
            totals.append(total)
            counts.append(count)
            d_input.append(d_logits @ fixed[0])
            new = [d_logits.T @ x, *([d_logits.sum(axis=0)] if len(weights) > 1 else [])]
            sums = [_ADD_TO(s, n) for s, n in zip(sums, new)] if sums else new
        joined = d_input[0]
        for more in d_input[1:]:
            joined = ops.concat(joined, more, axis=0)
        gradients = [joined, *sums]
        total = _added(totals).detach()
        for x, d in zip((input, *weights), gradients):
            total = total + ops.sum_all(wide(d.detach() * (x - x.detach())))
        return total, _added(counts)

    def _d_logits(self, logits: Any, target: Any, weight: Any) -> Any:
        """The derivative of the sum of a chunk's losses in its logits."""
        capture, kind = logits.capture, numpy_dtype(logits.dtype)
        rows, classes = logits.shape
        ones, zeros = (capture.constant(np.full(rows, v, kind), dtype=logits.dtype) for v in (1, 0))
        own = self.weight_for(logits)
        if own is None:
            own = capture.constant(np.ones(classes, kind), dtype=logits.dtype)
        return _derivative()(
            logits,
            target,
            weight=own,
            dloss=ones if weight is None else weight,
            dcounted=zeros,
            **self._constants(),
        )

    def extra_repr(self) -> str:
        return f"{self.linear.in_features}, {self.linear.out_features}"


@cache
def _derivative() -> ops.Op:
    """The derivative of cross entropy in its logits, derived from the operator."""
    return grad(ops.cross_entropy_ignoring, wrt=["logits"])


def _added(parts: Any) -> Any:
    found, *rest = parts
    for more in rest:
        found = found + more
    return found
