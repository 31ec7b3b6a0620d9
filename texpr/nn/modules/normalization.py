"""Normalisations: differences from a mean over a standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.nn import init
from texpr.nn.core.argument_checks import number, whole
from texpr.nn.core.layer_operations import buffer, parameter, present, with_batch
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer, Parameter
from texpr.support.errors import CallError


class _Channels(Module):
    """Base of normalisations with a weight, a bias and running statistics for every channel,
    axis 1.
    """

    dims: tuple[int, ...] = ()
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Buffer | None
    running_var: Buffer | None
    num_batches_tracked: Buffer | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        dtype: object,
        bias: bool,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_features, self.eps = whole(name, "num_features", num_features), number(name, "eps", eps)
        self.momentum = None if momentum is None else number(name, "momentum", momentum)
        self.affine, self.track_running_stats = bool(affine), bool(track_running_stats)
        self.weight = parameter(self, "weight", (self.num_features,), dtype, 1.0) if affine else None
        self.bias = parameter(self, "bias", (self.num_features,), dtype) if affine and bias else None
        self.running_mean = (
            buffer(self, "running_mean", self.num_features, dtype) if track_running_stats else None
        )
        self.running_var = (
            buffer(self, "running_var", self.num_features, dtype, 1.0) if track_running_stats else None
        )
        self.register_buffer("num_batches_tracked", np.int64(0) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Forget the statistics."""
        for each, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if each is not None:
                init.constant_(each, value)

    def reset_parameters(self) -> None:
        """Forget the statistics; weight 1, bias 0."""
        self.reset_running_stats()
        for each, value in ((self.weight, 1), (self.bias, 0)):
            if each is not None:
                init.constant_(each, value)

    def _check(self, x: Symbolic) -> None:
        if x.ndim not in self.dims:
            expected = " or ".join(map(str, self.dims))
            raise CallError(
                f"{type(self).__name__}: the input has {x.ndim} dimensions, expected {expected}", code="rank"
            )

    def _track(self, mean: Any, variance: Any, update: Callable[..., Any], scale: float = 1.0) -> None:
        """Let `update(old, new, scale=)` be the statistics; scale times the variance is the one
        over n - 1.
        """
        for old, new, factor in ((self.running_mean, mean, 1.0), (self.running_var, variance, scale)):
            if old is not None:
                mean.capture.assign(old, update(mean.capture.latest(old), new, scale=factor))

    def _from_statistics(self, x: Any) -> Any:
        scales = present(weight=self.weight, bias=self.bias)
        return ops.batch_norm(x, self.running_mean, self.running_var, **scales, eps=self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps:g}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


def _share(momentum: float, old: Any, new: Any, scale: float) -> Any:
    return ops.running_update(old, new, momentum=momentum, scale=scale)


def _cumulative(count: Any, old: Any, new: Any, scale: float) -> Any:
    return ops.cumulative_update(old, new, count, scale=scale)


class BatchNorm1d(_Channels):
    """Mean 0 and variance 1 for every channel of (batch, channels) or (batch, channels, length),
    then weight and bias.

    In training, with the mean and variance of the batch, which running means take in by the share
    `momentum`, or all batches alike where that is None; in evaluation with the running means. Ioffe
    and Szegedy, Batch Normalization, 2015.
    """

    dims = (2, 3)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        dtype: object = "f32",
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def forward(self, input: Any) -> Any:
        self._check(input)
        if not self.training and self.track_running_stats:
            return self._from_statistics(input)
        count = input.shape[0] * prod(input.shape[2:])
        if self.training and count == 1:
            raise CallError(
                f"{type(self).__name__}: one value per channel has no variance to train with", code="training"
            )
        y, mean, variance = ops.batch_norm_training(
            input, **present(weight=self.weight, bias=self.bias), eps=self.eps
        )
        if self.training and self.num_batches_tracked is not None:
            batches = ops.count_up(mean.capture.latest(self.num_batches_tracked))
            mean.capture.assign(self.num_batches_tracked, batches)
            if not count:  # a batch of nothing has no mean that the statistics could take in
                return y
            update = (
                partial(_share, self.momentum) if self.momentum is not None else partial(_cumulative, batches)
            )
            self._track(mean, variance, update, count / (count - 1))
        return y


class BatchNorm2d(BatchNorm1d):
    """Batch normalisation of images."""

    dims = (4,)


class BatchNorm3d(BatchNorm1d):
    """Batch normalisation of volumes."""

    dims = (5,)


class InstanceNorm1d(_Channels):
    """Mean 0 and variance 1 for every sample and channel of (batch, channels, length), with or
    without the batch.

    Running statistics, where they are tracked, are means over the batch; their batches are not
    counted, as in torch. Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.
    """

    dims = (2, 3)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        dtype: object = "f32",
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def forward(self, input: Any) -> Any:
        return with_batch(self, input, self.dims[1], self._normalized)

    def _normalized(self, x: Any) -> Any:
        if self.track_running_stats and not self.training:
            return self._from_statistics(x)
        if self.track_running_stats:
            inner = {"axis": 2, "count": x.ndim - 2}
            mean, variance = ops.reduce_mean(x, **inner), ops.reduce_var(x, **inner, correction=1)
            self._track(
                ops.reduce_mean(mean), ops.reduce_mean(variance), partial(_share, self.momentum or 0.0)
            )
        return ops.instance_norm(x, **present(weight=self.weight, bias=self.bias), eps=self.eps)


class InstanceNorm2d(InstanceNorm1d):
    """Instance normalisation of images."""

    dims = (3, 4)


class InstanceNorm3d(InstanceNorm1d):
    """Instance normalisation of volumes."""

    dims = (4, 5)


_FRACTION = {"f8e5m2": 2, "f8e4m3": 3, "f16": 10, "bf16": 7, "f32": 23, "f64": 52}
"""Bits behind the leading one of a float: the distance from 1 to the next number is 2 to minus
that.
"""


class _Shaped(Module):
    """Base of normalisations over the last axes, whose shape is normalized_shape."""

    weight: Parameter | None

    def __init__(
        self, normalized_shape: int | Sequence[int], elementwise_affine: bool, dtype: object
    ) -> None:
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, tuple | list) else (normalized_shape,)
        self.normalized_shape = tuple(whole(type(self).__name__, "normalized_shape", n) for n in shape)
        self.elementwise_affine = bool(elementwise_affine)
        self.weight = (
            parameter(self, "weight", self.normalized_shape, dtype, 1.0) if elementwise_affine else None
        )

    def _axis(self, x: Any) -> int:
        """The first axis that is normalised."""
        first = x.ndim - len(self.normalized_shape)
        if first < 0 or x.shape[first:] != self.normalized_shape:
            raise CallError(
                f"{type(self).__name__}: the input has shape {list(x.shape)}, expected [..., "
                f"{', '.join(map(str, self.normalized_shape))}]",
                code="shape",
            )
        return first


class LayerNorm(_Shaped):
    """Mean 0 and variance 1 over the last axes, then weight and bias. Ba, Kiros and Hinton,
    Layer Normalization, 2016.
    """

    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(normalized_shape, elementwise_affine, dtype)
        self.eps = number("LayerNorm", "eps", eps)
        self.bias = (
            parameter(self, "bias", self.normalized_shape, dtype) if elementwise_affine and bias else None
        )

    def forward(self, input: Any) -> Any:
        return ops.layer_norm(
            input, **present(weight=self.weight, bias=self.bias), axis=self._axis(input), eps=self.eps
        )

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps:g}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(_Shaped):
    """x / sqrt(mean of x^2 + eps) over the last axes, then the weight; eps is that of the dtype
    unless given.

    Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(normalized_shape, elementwise_affine, dtype)
        self.eps = None if eps is None else number("RMSNorm", "eps", eps)

    def forward(self, input: Any) -> Any:
        eps = 2.0 ** -_FRACTION[input.dtype.name] if self.eps is None else self.eps
        return ops.rms_norm(input, **present(weight=self.weight), axis=self._axis(input), eps=eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 for every sample and group of channels, then weight and bias per
    channel. Wu and He, 2018.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        dtype: object = "f32",
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_groups, self.num_channels = (
            whole("GroupNorm", "num_groups", num_groups),
            whole("GroupNorm", "num_channels", num_channels),
        )
        if self.num_channels % self.num_groups:
            raise CallError(
                f"GroupNorm: {num_channels} channels cannot be divided into {num_groups} groups",
                code="arguments",
            )
        self.eps, self.affine = number("GroupNorm", "eps", eps), bool(affine)
        self.weight = parameter(self, "weight", (self.num_channels,), dtype, 1.0) if affine else None
        self.bias = parameter(self, "bias", (self.num_channels,), dtype) if affine and bias else None

    def forward(self, input: Any) -> Any:
        return ops.group_norm(
            input, **present(weight=self.weight, bias=self.bias), G=self.num_groups, eps=self.eps
        )

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps:g}, affine={self.affine}"


class LocalResponseNorm(Module):
    """x / (k + alpha / size * sum of x^2 over `size` neighbouring channels)^beta. Krizhevsky,
    Sutskever and Hinton, 2012.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = whole("LocalResponseNorm", "size", size)
        self.alpha, self.beta, self.k = float(alpha), float(beta), float(k)

    def forward(self, input: Any) -> Any:
        return ops.local_response_norm(input, size=self.size, alpha=self.alpha, beta=self.beta, k=self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha:g}, beta={self.beta:g}, k={self.k:g}"
