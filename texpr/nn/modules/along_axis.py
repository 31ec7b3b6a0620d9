"""Functions along an axis, as layers: softmax and its kin, gated linear units."""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import axis
from texpr.nn.core.module import Module
from texpr.support.errors import CallError


class _Along(Module):
    """Base of functions along an axis."""

    operator = ""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return getattr(ops, self.operator)(input, axis=axis(type(self).__name__, input, self.dim))

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Softmax(_Along):
    """Base of softmax and its kin: one number is a vector of one, and of nothing there is
    nothing.
    """

    def forward(self, input: Any) -> Any:
        if not input.ndim and self.dim in (-1, 0):
            return super().forward(input.reshape(1)).reshape(())
        axis(type(self).__name__, input, self.dim)
        return super().forward(input) if input.size else input


class Softmax(_Softmax):
    """Normalized exponentials: `exp(x)` over the sum of `exp(x)` along an axis; it does not
    overflow.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.Softmax()(tx.tensor([1.0, 1.0]))
        tensor([0.5, 0.5], f64[2])
    """

    operator = "softmax"


class Softmin(_Softmax):
    """Normalized exponentials of the negatives: `softmax(-x)` along an axis.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.Softmin()(tx.tensor([0.0, 1.0]))
        tensor([0.73105858, 0.26894142], f64[2])
    """

    operator = "softmin"


class LogSoftmax(_Softmax):
    """Logarithm of the softmax along an axis, without overflow.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.LogSoftmax()(tx.tensor([1.0, 1.0]))
        tensor([-0.69314718, -0.69314718], f64[2])
    """

    operator = "log_softmax"


class Softmax2d(Module):
    """Softmax over the channels of images.

    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: the input has neither 3 nor 4 axes.
    Example:
        >>> nn.Softmax2d()(tx.zeros(1, 2, 1, 1)).tolist()
        [[[[0.5]], [[0.5]]]]
    """

    def forward(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise CallError(f"Softmax2d: the input has {input.ndim} dimensions, expected 3 or 4", code="rank")
        return ops.softmax(input, axis=input.ndim - 3)


class GLU(_Along):
    """Gated linear unit: the first half of an axis times the sigmoid of its second half.

    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (..., 2 n, ...) with 2 n elements along `dim`
        output: (..., n, ...)
    Raises:
        CallError: there is no axis `dim`, its extent is odd, or the input is not of floats.
    Example:
        >>> nn.GLU()(tx.tensor([2.0, 0.0]))
        tensor([1.], f64[1])
    """

    operator = "glu"
