"""Losses of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.nn.core.layer_operations import without_batch
from texpr.nn.losses.loss import Loss
from texpr.support.errors import CallError


class CTCLoss(Loss):
    """Connectionist temporal classification: `-log` of the probability of all paths that spell the
    target.

    The mean is over the batch, of losses divided by their target lengths. Graves et al.,
    Connectionist Temporal Classification, 2006.

    Args:
        blank: the class of no letter.
        zero_infinity: impossible targets count for nothing.
        reduction: "mean", "sum" or "none".
    Shapes:
        log_probs: (time, batch, classes), or (time, classes)
        targets: (batch, letters), or the letters of all targets one after the other
        input_lengths, target_lengths: (batch,) integers, how many times and letters count
        output: (), or (batch,) without reduction
    Raises:
        CallError: the lengths do not fit the letters or the times, inputs have other axes, or
            another reduction.
    Example:
        >>> log_probs = tx.zeros(4, 1, 3).log_softmax(-1)
        >>> nn.CTCLoss()(log_probs, tx.tensor([[1, 2]]), tx.tensor([4]), tx.tensor([2])).shape
        ()
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = int(blank), bool(zero_infinity)

    if not TYPE_CHECKING:  # types are those of modules

        def __call__(
            self,
            log_probs: Any,
            targets: Any,
            input_lengths: Any,
            target_lengths: Any,
            longest: int | None = None,
        ) -> Any:
            """The loss. How long the longest of targets in one line is, lengths say that are data; else
            it might be all of them.

            Raises:
                CallError: such targets are more letters or fewer than the lengths say, or inputs do not
                    fit.
            """
            input_lengths, target_lengths = map(_as_line, (input_lengths, target_lengths))
            line, known = (
                np.ndim(targets) == 1,
                None if isinstance(target_lengths, Symbolic) else np.asarray(target_lengths),
            )
            if not line or known is None:
                return super().__call__(log_probs, targets, input_lengths, target_lengths, longest=longest)
            if known.sum() != len(targets):
                raise CallError(
                    f"CTCLoss: the target_lengths add up to {known.sum()}, and there are {len(targets)} letters",
                    code="shape",
                )
            return super().__call__(
                log_probs, targets, input_lengths, target_lengths, longest=int(known.max(initial=0))
            )

    def forward(
        self,
        log_probs: Any,
        targets: Any,
        input_lengths: Any,
        target_lengths: Any,
        longest: int | None = None,
    ) -> Any:
        if log_probs.ndim not in (2, 3) or targets.ndim not in (1, log_probs.ndim - 1):
            raise CallError(
                f"CTCLoss: log_probs has {log_probs.ndim} dimensions and targets {targets.ndim}, expected 3 "
                f"and 2, or 3 and 1 "
                "with all letters in one line",
                code="rank",
                help="without a batch, expected 2 and 1",
            )
        alone = log_probs.ndim == 2
        logp = ops.expand(log_probs, axis=1, times=1) if alone else log_probs
        if targets.ndim == 2:
            each = ops.ctc_loss(logp, targets, input_lengths, target_lengths, blank=self.blank)
        else:
            most = targets.shape[0] if longest is None else longest
            each = ops.ctc_loss_line(
                logp, targets, input_lengths, target_lengths, longest=most, blank=self.blank
            )
        if self.zero_infinity:
            each = ops.select(ops.isinf(each), ops.full_like(each, value=0), each)
        if self.reduction != "mean":
            return without_batch(each) if alone and self.reduction == "none" else self.reduced(each)
        return ops.mean_all(
            ops.divide(each, ops.clip_between(target_lengths.astype(each.dtype), 1.0, float("inf")))
        )


def _as_line(lengths: Any) -> Any:
    """The length of an example without a batch as one of several."""
    return (
        lengths
        if np.ndim(lengths)
        else lengths.reshape((1,))
        if hasattr(lengths, "reshape")
        else np.array([lengths])
    )
