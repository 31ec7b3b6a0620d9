"""Layers that are linear in their inputs, and those that change nothing but the shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from texpr import ops
from texpr.nn import init
from texpr.nn.core.argument_checks import axis, whole
from texpr.nn.core.layer_operations import parameter
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import CallError


class Identity(Module):
    """Identity: the input as it is. Arguments are ignored.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises: nothing of its own.
    Example:
        >>> nn.Identity()(tx.tensor([1.0, 2.0]))
        tensor([1., 2.], f64[2])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """Affine map of the last axis: `y = x W^T + b`.

    First values are even within 1 / sqrt(in_features), as torch's are.

    Args:
        in_features, out_features: extents of the last axis before and after.
        bias: add `b`.
        dtype: of the parameters, such as "f32".
    Shapes:
        weight: (out_features, in_features)
        bias: (out_features,)
        input: (..., in_features)
        output: (..., out_features)
    Raises:
        CallError: a size is no integer of at least 1, or the last axis of the input has another
            extent.
    Example:
        >>> layer = nn.Linear(3, 2)
        >>> layer(tx.ones(8, 3)).shape
        (8, 2)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, dtype: object = "f32"
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = (
            whole("Linear", "in_features", in_features),
            whole("Linear", "out_features", out_features),
        )
        self.weight = parameter(self, "weight", (self.out_features, self.in_features), dtype)
        self.bias = parameter(self, "bias", (self.out_features,), dtype) if bias else None
        self.reset_parameters()

    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Draw the first values anew."""
        fill(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        return (
            ops.linear(input, self.weight) if self.bias is None else ops.linear(input, self.weight, self.bias)
        )

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}{'' if self.bias is not None else ', bias=False'}"


class Bilinear(Module):
    """Bilinear map of two inputs: `y_o = x1^T W_o x2 + b_o` over the last axes.

    First values are even within 1 / sqrt(in1_features).

    Shapes:
        weight: (out_features, in1_features, in2_features)
        input1: (..., in1_features)
        input2: (..., in2_features)
        output: (..., out_features)
    Raises:
        CallError: a size is no integer of at least 1, or the inputs do not fit.
    Example:
        >>> nn.Bilinear(3, 4, 2)(tx.ones(8, 3), tx.ones(8, 4)).shape
        (8, 2)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        self.in1_features = whole("Bilinear", "in1_features", in1_features)
        self.in2_features = whole("Bilinear", "in2_features", in2_features)
        self.out_features = whole("Bilinear", "out_features", out_features)
        self.weight = parameter(
            self, "weight", (self.out_features, self.in1_features, self.in2_features), dtype
        )
        self.bias = parameter(self, "bias", (self.out_features,), dtype) if bias else None
        self.reset_parameters()

    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Draw the first values anew."""
        bound = 1 / sqrt(self.in1_features)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        return (
            ops.bilinear(input1, input2, self.weight)
            if self.bias is None
            else ops.bilinear(input1, input2, self.weight, self.bias)
        )

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}"
        )


class Flatten(Module):
    """Flattened axes: `start_dim` to `end_dim` become one axis, in the order of elements.

    Args:
        start_dim, end_dim: the first and the last axis of those that become one.
    Shapes:
        input: (batch, ...)
        output: (batch, product of the other extents), by default
    Raises:
        CallError: there is no such axis, or `start_dim` is behind `end_dim`.
    Example:
        >>> nn.Flatten()(tx.zeros(8, 3, 4)).shape
        (8, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        first = axis("Flatten", input, self.start_dim, "start_dim")
        last = axis("Flatten", input, self.end_dim, "end_dim")
        if first > last:
            raise CallError(f"Flatten: axis {first} is behind axis {last}", code="rank")
        while last > first:
            step = min(last - first, 3)
            input = getattr(ops, f"merge{step + 1}")(input, axis=first)
            last -= step
        return input

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split of an axis into several.

    Args:
        dim: the axis.
        unflattened_size: extents of the new axes; one of them may be -1.
    Shapes:
        input: (..., n, ...)
        output: (..., *unflattened_size, ...), whose product is n
    Raises:
        CallError: there is no such axis, or the extents do not multiply to its extent.
    Example:
        >>> nn.Unflatten(1, (3, -1))(tx.zeros(8, 12)).shape
        (8, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)
        if (
            not self.unflattened_size
            or self.unflattened_size.count(-1) > 1
            or any(s < 1 and s != -1 for s in self.unflattened_size)
        ):
            raise CallError(
                f"Unflatten: unflattened_size is {unflattened_size!r}, expected sizes, one of which may be "
                f"-1",
                code="arguments",
            )

    def forward(self, input: Any) -> Any:
        at = axis("Unflatten", input, self.dim)
        size, known = input.shape[at], prod(s for s in self.unflattened_size if s != -1)
        sizes = [s if s != -1 else size // known for s in self.unflattened_size]
        if prod(sizes) != size:
            raise CallError(
                f"Unflatten: axis {at} has extent {size}, which is not "
                f"{' x '.join(map(str, self.unflattened_size))}",
                code="shape",
            )
        for k, first in enumerate(sizes[:-1]):
            input = ops.unflatten(input, axis=at + k, D=first)
        return input

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def fill(weight: Parameter, bias: Parameter | None) -> None:
    """First values of linear layers and convolutions, as torch has them: even within 1 /
    sqrt(fan in), the bias after the weight.
    """
    init.kaiming_uniform_(weight, a=sqrt(5))
    if bias is not None:
        bound = 1 / sqrt(max(1, init.fans(weight.shape)[0]))
        init.uniform_(bias, -bound, bound)
