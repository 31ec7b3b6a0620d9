"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from math import prod
from typing import Any, TypeVar

import numpy as np

from texpr import ops
from texpr.nn.core.layer_operations import present
from texpr.nn.core.module import Module
from texpr.nn.core.rank_sums import is_summing, sum_over_ranks
from texpr.nn.modules.normalization import BatchNorm1d
from texpr.support.errors import CallError

M = TypeVar("M", bound=Module)


class SyncBatchNorm(BatchNorm1d):
    """Batch normalization whose statistics are those of the batches of all ranks of
    `Trainer(comm=)`: `(x - mean) / sqrt(variance + eps) * weight + bias` per channel.

    Sums are made in f64 and added up over the ranks, in the forward pass and in the backward pass.
    Running statistics take in all batches of a step at once. In one process, and in evaluation, it
    is batch normalization. Ioffe and Szegedy, Batch Normalization, 2015.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batches in the running statistics; None for the mean of all steps.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias, running_mean, running_var: (num_features,)
        input: (batch, channels), (batch, channels, ...)
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, the input has other axes or channels,
            or training of one process has one value per channel.
    Example:
        >>> nn.SyncBatchNorm(3)(tx.randn(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    dims = (2, 3, 4, 5)

    @staticmethod
    def convert(module: M) -> M:
        """The module, whose batch normalizations become this: they keep their parameters and
        statistics. To be called before a trainer is made.

        Raises:
            CallError: it is no module.
        Example:
            >>> nn.SyncBatchNorm.convert(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))[1].eps
            1e-05
        """
        if not isinstance(module, Module):
            raise CallError(
                f"SyncBatchNorm.convert takes a module, not a {type(module).__name__}", code="arguments"
            )
        if isinstance(module, BatchNorm1d) and not isinstance(module, SyncBatchNorm):
            return _converted(module)  # type: ignore[return-value]
        for name, child in list(module._modules.items()):
            setattr(module, name, SyncBatchNorm.convert(child))
        return module

    def forward(self, input: Any) -> Any:
        if not self.training or not is_summing():
            return super().forward(input)
        self._check(input)
        axes = (0, *range(2, input.ndim))
        wide = input.astype("f64")
        count = np.full(1, input.shape[0] * prod(input.shape[2:]), np.float64)
        own: Any = ops.concat(wide.sum(axis=axes), (wide * wide).sum(axis=axes))
        summed: Any = sum_over_ranks(ops.concat(own, input.capture.constant(count)))
        total, squares, n = _parts(summed, self.num_features)
        mean = total / n
        variance = squares / n - mean * mean
        self._count(mean, variance * (n / ops.maximum(n - 1.0, 1.0)), input.dtype)
        scales = present(weight=self.weight, bias=self.bias)
        return ops.batch_norm(
            input, mean.astype(input.dtype), variance.astype(input.dtype), **scales, eps=self.eps
        )

    def _count(self, mean: Any, variance: Any, dtype: Any) -> None:
        """Let the running statistics take in those of a step."""
        if self.num_batches_tracked is None:
            return
        capture = mean.capture
        batches = ops.count_up(capture.latest(self.num_batches_tracked))
        capture.assign(self.num_batches_tracked, batches)
        for old, new in ((self.running_mean, mean), (self.running_var, variance)):
            assert old is not None
            now, last = new.detach().astype(old.dtype), capture.latest(old)
            capture.assign(
                old,
                ops.cumulative_update(last, now, batches)
                if self.momentum is None
                else ops.running_update(last, now, momentum=self.momentum),
            )


def _parts(found: Any, channels: int) -> tuple[Any, Any, Any]:
    return found[:channels], found[channels : 2 * channels], found[2 * channels]


def _converted(module: BatchNorm1d) -> SyncBatchNorm:
    made = SyncBatchNorm(
        module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
    )
    for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
        setattr(made, name, getattr(module, name))
    made.training = module.training
    return made
