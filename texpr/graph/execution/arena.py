"""Offsets of intermediate tensors in one block of memory: a tensor's place is free again after the
last launch that reads it, or in this launch already for what it computes of each element from the
same element.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.ir.expr import Tensor
from texpr.runtime.slabs import ALIGNMENT
from texpr.support.frozen_dataclass import frozen


@frozen
class Arena:
    """Places of tensors in one block.

    Attributes:
        offset: of each tensor, in bytes.
        size: of the block.
        naive: what the tensors would take each in a place of its own.
        overwrites: tensors that are computed in the memory of others, which are gone then.
        given: tensors whose memory callers give, and those that are computed in it before.
    """

    offset: Mapping[Tensor, int]
    size: int
    naive: int
    overwrites: Mapping[Tensor, Tensor] = field(default_factory=dict)
    given: Mapping[Tensor, Tensor] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{len(self.offset)} tensors in {self.size:,} bytes, {len(self.overwrites)} over others; each "
            f"alone: {self.naive:,}"
        )


Lifetimes = Mapping[Tensor, tuple[int, int]]
"""The first and the last launch that uses a tensor."""


def lifetimes(
    launches: Sequence[tuple[Sequence[Tensor], Sequence[Tensor]]], kept: Collection[Tensor]
) -> dict[Tensor, tuple[int, int]]:
    """Lifetimes of the tensors that launches (their inputs, their outputs) write.

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


def reuse_in_place(
    launches: Sequence[tuple[Sequence[Tensor], Sequence[Tensor]]],
    pairs: Sequence[Sequence[tuple[int, int]]],
    lives: Lifetimes,
) -> dict[Tensor, Tensor]:
    """Tensors that can be computed in another tensor's memory, each with that tensor: one that
    their launch alone reads, once, and as its last reader.

    Args:
        pairs: of each launch, positions of inputs and of outputs that may lie in their memory.
    """
    over: dict[Tensor, Tensor] = {}
    for k, ((inputs, outputs), allowed) in enumerate(zip(launches, pairs, strict=True)):
        for source, target in ((inputs[i], outputs[j]) for i, j in allowed):
            if lives.get(source, (k, -1))[1] != k or source in outputs or inputs.count(source) > 1:
                continue
            if (
                target in lives
                and lives[target][0] == k
                and target not in over
                and source not in over.values()
            ):
                over[target] = source
    return over


def make_arena(
    lives: Lifetimes, over: Mapping[Tensor, Tensor] | None = None, given: Collection[Tensor] = ()
) -> Arena:
    """Places where no two tensors that live at once overlap: the largest first, each at the lowest
    place that is free while it lives.

    Args:
        over: tensors that have the place of others, as `reuse_in_place` says.
        given: tensors, live to the end, that have memory of their own elsewhere.

    Source: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020.
    """
    over, first = dict(over or {}), {}
    for tensor in sorted(lives, key=lambda t: lives[t]):
        place = first[over[tensor]] if tensor in over else tensor
        if tensor in given and tensor_bytes(place) > tensor_bytes(tensor):
            del over[tensor]  # its own memory does not hold what would lie there before
            place = tensor
        first[tensor] = place
    elsewhere = {first[t]: t for t in given if t in lives}
    whole = dict(lives)
    for tensor, place in first.items():
        whole[place] = min(whole[place][0], lives[tensor][0]), max(whole[place][1], lives[tensor][1])
    places = {t: life for t, life in whole.items() if first[t] is t and t not in elsewhere}
    offset, top = _assign_offsets(places)
    return Arena(
        {t: offset[first[t]] for t in lives if first[t] in offset},
        top,
        sum(_aligned(tensor_bytes(t)) for t in lives),
        over,
        {t: elsewhere[first[t]] for t in lives if first[t] in elsewhere},
    )


def _assign_offsets(lives: Lifetimes) -> tuple[dict[Tensor, int], int]:
    placed: list[tuple[int, int, int, int]] = []
    """First byte and end of each tensor, from the lowest on, and its life."""
    offset: dict[Tensor, int] = {}
    sizes = {t: (-tensor_bytes(t), lives[t]) for t in lives}
    for tensor in sorted(lives, key=sizes.__getitem__):
        (first, last), size, at = lives[tensor], _aligned(-sizes[tensor][0]), 0
        for low, high, begin, end in placed:
            if begin <= last and first <= end:
                if at + size <= low:
                    break
                at = max(at, high)
        offset[tensor] = at
        insort(placed, (at, at + size, first, last))
    return offset, max((end for _, end, _, _ in placed), default=0)


def _aligned(size: int) -> int:
    """Bytes up to the next line; an empty tensor has a place, too."""
    return max(1, -(-size // ALIGNMENT)) * ALIGNMENT
