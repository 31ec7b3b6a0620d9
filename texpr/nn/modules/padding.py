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
    """`value` before and after the last axis; negative numbers take elements away."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = float(value)

    def constants(self) -> dict[str, float]:
        return {"value": self.value}

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """`value` around the last two axes."""

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """`value` around the last three axes."""

    rank = 3


class ZeroPad1d(_Pad):
    """Zeros before and after the last axis."""


class ZeroPad2d(_Pad):
    """Zeros around the last two axes."""

    rank = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes."""

    rank = 3


class ReflectionPad1d(_Pad):
    """Pads with the inside mirrored at the ends, without the end itself."""

    mode, least = "reflect", 0


class ReflectionPad2d(ReflectionPad1d):
    """Pads with the inside mirrored around the last two axes."""

    rank = 2


class ReflectionPad3d(ReflectionPad1d):
    """Pads with the inside mirrored around the last three axes."""

    rank = 3


class ReplicationPad1d(_Pad):
    """The ends of the last axis repeated."""

    mode, least = "replicate", 0


class ReplicationPad2d(ReplicationPad1d):
    """The edges of the last two axes repeated."""

    rank = 2


class ReplicationPad3d(ReplicationPad1d):
    """The faces of the last three axes repeated."""

    rank = 3


class CircularPad1d(_Pad):
    """The last axis as a circle."""

    mode, least = "circular", 0


class CircularPad2d(CircularPad1d):
    """The last two axes as circles."""

    rank = 2


class CircularPad3d(CircularPad1d):
    """The last three axes as circles."""

    rank = 3
