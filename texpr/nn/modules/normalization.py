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
    """Batch normalization of vectors and sequences:
    `(x - mean) / sqrt(variance + eps) * weight + bias` per channel.

    In training, mean and variance are those of the batch, which enter the running statistics; in
    evaluation they are the running ones. Ioffe and Szegedy, Batch Normalization, 2015.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias, running_mean, running_var: (num_features,)
        input: (batch, channels), (batch, channels, length)
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, the input has other axes or channels,
            or training has one value per channel.
    Example:
        >>> nn.BatchNorm1d(3)(tx.randn(2, 3)).shape
        (2, 3)
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
    """Batch normalization of images: `(x - mean) / sqrt(variance + eps) * weight + bias` per
    channel.

    In training, mean and variance are those of the batch, which enter the running statistics; in
    evaluation they are the running ones. Ioffe and Szegedy, Batch Normalization, 2015.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias, running_mean, running_var: (num_features,)
        input: (batch, channels, height, width)
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, the input has other axes or channels,
            or training has one value per channel.
    Example:
        >>> nn.BatchNorm2d(3)(tx.randn(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    dims = (4,)


class BatchNorm3d(BatchNorm1d):
    """Batch normalization of volumes: `(x - mean) / sqrt(variance + eps) * weight + bias` per
    channel.

    In training, mean and variance are those of the batch, which enter the running statistics; in
    evaluation they are the running ones. Ioffe and Szegedy, Batch Normalization, 2015.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias, running_mean, running_var: (num_features,)
        input: (batch, channels, depth, height, width)
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, the input has other axes or channels,
            or training has one value per channel.
    Example:
        >>> nn.BatchNorm3d(3)(tx.randn(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """

    dims = (5,)


class InstanceNorm1d(_Channels):
    """Instance normalization of sequences: `(x - mean) / sqrt(variance + eps)` for every sample and
    channel.

    Running statistics are means over the batch, if they are tracked; their batches are not counted,
    as in torch. Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias: (num_features,) with `affine`
        input: (batch, channels, length), or without the batch
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, or the input has other axes or
            channels.
    Example:
        >>> nn.InstanceNorm1d(3)(tx.randn(2, 3, 4)).shape
        (2, 3, 4)
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
    """Instance normalization of images: `(x - mean) / sqrt(variance + eps)` for every sample and
    channel.

    Running statistics are means over the batch, if they are tracked; their batches are not counted,
    as in torch. Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias: (num_features,) with `affine`
        input: (batch, channels, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, or the input has other axes or
            channels.
    Example:
        >>> nn.InstanceNorm2d(3)(tx.randn(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    dims = (3, 4)


class InstanceNorm3d(InstanceNorm1d):
    """Instance normalization of volumes: `(x - mean) / sqrt(variance + eps)` for every sample and
    channel.

    Running statistics are means over the batch, if they are tracked; their batches are not counted,
    as in torch. Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.

    Args:
        num_features: the number of channels, axis 1.
        eps: added to the variance.
        momentum: the share of the batch in the running statistics; None for the mean of all
            batches.
        affine: learn a weight and a bias per channel.
        track_running_stats: keep running statistics, which evaluation uses.
        bias: with `affine`, learn a bias.
    Shapes:
        weight, bias: (num_features,) with `affine`
        input: (batch, channels, depth, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: `num_features` is no integer of at least 1, or the input has other axes or
            channels.
    Example:
        >>> nn.InstanceNorm3d(3)(tx.randn(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """

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
    """Layer normalization: `(x - mean) / sqrt(variance + eps) * weight + bias` over the last axes.

    Ba, Kiros and Hinton, Layer Normalization, 2016.

    Args:
        normalized_shape: the extents of the last axes, or one number.
        eps: added to the variance.
        elementwise_affine: learn a weight and a bias.
        bias: with `elementwise_affine`, learn a bias.
    Shapes:
        weight, bias: normalized_shape
        input: (..., *normalized_shape)
        output: the shape of the input
    Raises:
        CallError: an extent is no integer of at least 1, or the last axes have other extents.
    Example:
        >>> nn.LayerNorm(4)(tx.randn(2, 3, 4)).shape
        (2, 3, 4)
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
    """Root-mean-square normalization: `x / sqrt(mean of x^2 + eps) * weight` over the last axes.

    Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Args:
        normalized_shape: the extents of the last axes, or one number.
        eps: added to the mean square; the epsilon of the dtype unless given.
        elementwise_affine: learn a weight.
    Shapes:
        weight: normalized_shape
        input: (..., *normalized_shape)
        output: the shape of the input
    Raises:
        CallError: an extent is no integer of at least 1, or the last axes have other extents.
    Example:
        >>> nn.RMSNorm(4)(tx.randn(2, 3, 4)).shape
        (2, 3, 4)
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
    """Group normalization: `(x - mean) / sqrt(variance + eps) * weight + bias` for every sample and
    group of channels.

    Wu and He, Group Normalization, 2018.

    Args:
        num_groups: groups, into which the channels are divided evenly.
        num_channels: the extent of axis 1.
        eps: added to the variance.
        affine: learn a weight and a bias per channel.
    Shapes:
        weight, bias: (num_channels,)
        input: (batch, num_channels, ...)
        output: the shape of the input
    Raises:
        CallError: channels cannot be divided into groups, or the input has other channels.
    Example:
        >>> nn.GroupNorm(2, 4)(tx.randn(2, 4, 5)).shape
        (2, 4, 5)
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
    """Local response normalization:
    `x / (k + alpha / size * sum of x^2 over size neighbouring channels)^beta`.

    Krizhevsky, Sutskever and Hinton, ImageNet Classification, 2012.

    Args:
        size: the number of neighbouring channels.
    Shapes:
        input: (batch, channels, ...)
        output: the shape of the input
    Raises:
        CallError: `size` is no integer of at least 1, or the input has no channels.
    Example:
        >>> nn.LocalResponseNorm(3)(tx.randn(2, 4, 5)).shape
        (2, 4, 5)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = whole("LocalResponseNorm", "size", size)
        self.alpha, self.beta, self.k = float(alpha), float(beta), float(k)

    def forward(self, input: Any) -> Any:
        return ops.local_response_norm(input, size=self.size, alpha=self.alpha, beta=self.beta, k=self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha:g}, beta={self.beta:g}, k={self.k:g}"
