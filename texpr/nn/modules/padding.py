"""Elements around tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import whole
from texpr.nn.core.layer_operations import with_batch
from texpr.nn.core.module import Module
from texpr.support.errors import CallError

MODES = {
    "zeros": ops.pad,
    "reflect": ops.pad_reflect,
    "replicate": ops.pad_edge,
    "circular": ops.pad_circular,
}
"""Operators that pad, by torch's names."""


def padded(x: Any, sides: Sequence[tuple[int, int]], mode: str = "zeros", **constants: float) -> Any:
    """The last axes of x with so many elements before and after; a negative number takes
    elements away.
    """
    for axis, (before, after) in enumerate(sides, x.ndim - len(sides)):
        cut = max(-before, 0), max(-after, 0)
        if any(cut):
            x = ops.slice(x, axis=axis, start=cut[0], count=x.shape[axis] - sum(cut))
        if before > 0 or after > 0:
            x = MODES[mode](x, axis=axis, before=max(before, 0), after=max(after, 0), **constants)
    return x


class _Pad(Module):
    """Base of padding layers: numbers of elements before and after, from the last axis to the
    first, or one for all sides.
    """

    rank = 1
    mode = "zeros"
    least: int | None = None

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        every = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)
        if len(every) != 2 * self.rank:
            raise CallError(
                f"{type(self).__name__}: padding is {padding!r}, expected an integer or {2 * self.rank} of "
                f"them",
                code="arguments",
            )
        self.padding = tuple(
            whole(type(self).__name__, "padding", p, -(1 << 40) if self.least is None else self.least)
            for p in every
        )

    def forward(self, input: Any) -> Any:
        sides = [(self.padding[2 * k], self.padding[2 * k + 1]) for k in reversed(range(self.rank))]
        return with_batch(
            self, input, self.rank + 2, lambda x: padded(x, sides, self.mode, **self.constants())
        )

    def constants(self) -> dict[str, float]:
        """Of the operator."""
        return {}

    def extra_repr(self) -> str:
        return str(self.padding)


class ConstantPad1d(_Pad):
    """A constant around the last axis. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 2 of them: before and after, from the last axis to the
            first.
        value: the constant.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 2 of them; the input has another number of
            axes.
    Example:
        >>> nn.ConstantPad1d(1, 5.0)(tx.tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[5.0, 1.0, 2.0, 3.0, 5.0]]]
    """

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = float(value)

    def constants(self) -> dict[str, float]:
        return {"value": self.value}

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """A constant around the last two axes. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 4 of them: before and after, from the last axis to the
            first.
        value: the constant.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 4 of them; the input has another number of
            axes.
    Example:
        >>> nn.ConstantPad2d(1, 5.0)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 6, 6)
    """

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """A constant around the last three axes. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 6 of them: before and after, from the last axis to the
            first.
        value: the constant.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 6 of them; the input has another number of
            axes.
    Example:
        >>> nn.ConstantPad3d(1, 5.0)(tx.ones(1, 3, 4, 4, 4)).shape
        (1, 3, 6, 6, 6)
    """

    rank = 3


class ZeroPad1d(_Pad):
    """Zeros around the last axis. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 2 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 2 of them; the input has another number of
            axes.
    Example:
        >>> nn.ZeroPad1d(1)(tx.tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[0.0, 1.0, 2.0, 3.0, 0.0]]]
    """


class ZeroPad2d(_Pad):
    """Zeros around the last two axes. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 4 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 4 of them; the input has another number of
            axes.
    Example:
        >>> nn.ZeroPad2d(1)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 6, 6)
    """

    rank = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes. Negative numbers take elements away.

    Args:
        padding: one number for all sides, or 6 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 6 of them; the input has another number of
            axes.
    Example:
        >>> nn.ZeroPad3d(1)(tx.ones(1, 3, 4, 4, 4)).shape
        (1, 3, 6, 6, 6)
    """

    rank = 3


class ReflectionPad1d(_Pad):
    """Elements mirrored at the ends of the last axis, without the ends themselves.

    Args:
        padding: one number for all sides, or 2 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 2 of them, is below 0, or not below the
            extent; the input has another number of axes.
    Example:
        >>> nn.ReflectionPad1d(1)(tx.tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[2.0, 1.0, 2.0, 3.0, 2.0]]]
    """

    mode, least = "reflect", 0


class ReflectionPad2d(ReflectionPad1d):
    """Elements mirrored at the ends of the last two axes, without the ends themselves.

    Args:
        padding: one number for all sides, or 4 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 4 of them, is below 0, or not below the
            extent; the input has another number of axes.
    Example:
        >>> nn.ReflectionPad2d(1)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 6, 6)
    """

    rank = 2


class ReflectionPad3d(ReflectionPad1d):
    """Elements mirrored at the ends of the last three axes, without the ends themselves.

    Args:
        padding: one number for all sides, or 6 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 6 of them, is below 0, or not below the
            extent; the input has another number of axes.
    Example:
        >>> nn.ReflectionPad3d(1)(tx.ones(1, 3, 4, 4, 4)).shape
        (1, 3, 6, 6, 6)
    """

    rank = 3


class ReplicationPad1d(_Pad):
    """Elements at the ends of the last axis, repeated.

    Args:
        padding: one number for all sides, or 2 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 2 of them, or is below 0; the input has
            another number of axes.
    Example:
        >>> nn.ReplicationPad1d(1)(tx.tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[1.0, 1.0, 2.0, 3.0, 3.0]]]
    """

    mode, least = "replicate", 0


class ReplicationPad2d(ReplicationPad1d):
    """Elements at the ends of the last two axes, repeated.

    Args:
        padding: one number for all sides, or 4 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 4 of them, or is below 0; the input has
            another number of axes.
    Example:
        >>> nn.ReplicationPad2d(1)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 6, 6)
    """

    rank = 2


class ReplicationPad3d(ReplicationPad1d):
    """Elements at the ends of the last three axes, repeated.

    Args:
        padding: one number for all sides, or 6 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 6 of them, or is below 0; the input has
            another number of axes.
    Example:
        >>> nn.ReplicationPad3d(1)(tx.ones(1, 3, 4, 4, 4)).shape
        (1, 3, 6, 6, 6)
    """

    rank = 3


class CircularPad1d(_Pad):
    """Elements of the other end of the last axis, as of a circle.

    Args:
        padding: one number for all sides, or 2 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: (batch, channels, out_length), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 2 of them, is below 0, or above the extent;
            the input has another number of axes.
    Example:
        >>> nn.CircularPad1d(1)(tx.tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[3.0, 1.0, 2.0, 3.0, 1.0]]]
    """

    mode, least = "circular", 0


class CircularPad2d(CircularPad1d):
    """Elements of the other end of the last two axes, as of a circle.

    Args:
        padding: one number for all sides, or 4 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: (batch, channels, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 4 of them, is below 0, or above the extent;
            the input has another number of axes.
    Example:
        >>> nn.CircularPad2d(1)(tx.ones(1, 3, 4, 4)).shape
        (1, 3, 6, 6)
    """

    rank = 2


class CircularPad3d(CircularPad1d):
    """Elements of the other end of the last three axes, as of a circle.

    Args:
        padding: one number for all sides, or 6 of them: before and after, from the last axis to the
            first.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: (batch, channels, out_depth, out_height, out_width), each axis longer by its padding
    Raises:
        CallError: `padding` is neither an integer nor 6 of them, is below 0, or above the extent;
            the input has another number of axes.
    Example:
        >>> nn.CircularPad3d(1)(tx.ones(1, 3, 4, 4, 4)).shape
        (1, 3, 6, 6, 6)
    """

    rank = 3
