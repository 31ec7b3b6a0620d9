"""Where intermediate tensors lie in one block of memory: a tensor's place is free again after the last launch that reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from texpr.graph.fusion import tensor_bytes
from texpr.ir.expr import Tensor
from texpr.support.errors import ResourceError

ALIGNMENT = 64
"""Bytes of a cache line, at which every tensor begins."""


@dataclass(frozen=True, slots=True)
class Arena:
    """Places of tensors in one block.

    Attributes:
        offset: of each tensor, in bytes.
        size: of the block.
        naive: what the tensors would take each in a place of its own.
    """

    offset: Mapping[Tensor, int]
    size: int
    naive: int

    def __str__(self) -> str:
        return f"{len(self.offset)} tensors in {self.size:,} bytes; each alone: {self.naive:,}"


Lifetimes = Mapping[Tensor, tuple[int, int]]
"""The first and the last launch that uses a tensor."""


def lifetimes(launches: Sequence[tuple[Sequence[Tensor], Sequence[Tensor]]], kept: Collection[Tensor]) -> dict[Tensor, tuple[int, int]]:
    """When tensors live that launches (their inputs, their outputs) write.

    Args:
        kept: tensors that are read after the last launch.
    """
    found: dict[Tensor, tuple[int, int]] = {}
    for k, (inputs, outputs) in enumerate(launches):
        for t in outputs:
            found.setdefault(t, (k, k))
        for t in (*inputs, *outputs):
            if t in found:
                found[t] = found[t][0], k
    return {t: (first, len(launches) if t in kept else last) for t, (first, last) in found.items()}


def make_arena(lives: Lifetimes) -> Arena:
    """Places where no two tensors that live at once overlap: the largest first, each at the lowest place that is free while it lives.

    Source: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020.
    """
    offset: dict[Tensor, int] = {}
    top = 0
    for tensor in sorted(lives, key=lambda t: (-tensor_bytes(t), lives[t])):
        at = 0
        for low, high in sorted((offset[t], offset[t] + _rounded(t)) for t in offset if _together(lives[t], lives[tensor])):
            if at + _rounded(tensor) <= low:
                break
            at = max(at, high)
        offset[tensor] = at
        top = max(top, at + _rounded(tensor))
    return Arena(offset, top, sum(map(_rounded, lives)))


def _rounded(tensor: Tensor) -> int:
    """Bytes up to the next line; an empty tensor has a place, too."""
    return max(1, -(-tensor_bytes(tensor) // ALIGNMENT)) * ALIGNMENT


def _together(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def block(size: int) -> np.ndarray:
    """Memory that begins at a whole line.

    Raises:
        ResourceError: there is not so much.
    """
    try:
        whole = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):
        raise ResourceError(f"intermediate tensors of {size:,} bytes do not fit into memory", code="memory") from None
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]
