"""Which tensors share memory: a tensor's buffer is free again after the last launch that reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Tensor


@dataclass(frozen=True, slots=True)
class Buffers:
    """Attributes:
    number: the buffer of each tensor.
    sizes: bytes of each buffer.
    """

    number: dict[Tensor, int]
    sizes: tuple[int, ...]


def tensor_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor whose extents are numbers."""
    return tensor.dtype.bytes * prod(integer(n) for n in tensor.shape)  # type: ignore[misc]


def share_buffers(launches: Sequence[tuple[Sequence[Tensor], Sequence[Tensor]]], kept: Collection[Tensor]) -> Buffers:
    """Buffers for everything that launches (their inputs, their outputs) write; two tensors alive at once never share one.

    The smallest free buffer that is large enough is taken, else the largest free one grows (best fit).

    Args:
        kept: tensors that are read after the last launch.
    """
    last = {t: k for k, (inputs, outputs) in enumerate(launches) for t in (*inputs, *outputs)}
    number: dict[Tensor, int] = {}
    sizes: list[int] = []
    free: set[int] = set()
    for k, (inputs, outputs) in enumerate(launches):
        for tensor in outputs:
            if tensor not in number:
                number[tensor] = _take(tensor_bytes(tensor), free, sizes)
        for tensor in dict.fromkeys((*inputs, *outputs)):
            if tensor in number and last[tensor] == k and tensor not in kept:
                free.add(number[tensor])
    return Buffers(number, tuple(sizes))


def _take(wanted: int, free: set[int], sizes: list[int]) -> int:
    fitting = [b for b in free if sizes[b] >= wanted]
    if not free:
        sizes.append(wanted)
        return len(sizes) - 1
    chosen = min(fitting, key=lambda b: (sizes[b], b)) if fitting else max(free, key=lambda b: (sizes[b], -b))
    sizes[chosen] = max(sizes[chosen], wanted)
    free.remove(chosen)
    return chosen
