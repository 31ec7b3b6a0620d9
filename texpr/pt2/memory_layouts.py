"""The layout of a result in the memory of an operator's first argument, in PyTorch.

Each function takes the declared types of both (None where nothing is declared) and what the node is
given by name. It says `no` for a copy, `same` for that tensor under another name, `part` for a view,
`maybe` where that depends on what is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from texpr.pt2.weights import TensorType

Shares = Callable[[TensorType | None, TensorType | None, dict[str, Any]], str]


def copy(*_: Any) -> str:
    """The result has memory of its own."""
    return "no"


def same(*_: Any) -> str:
    """The result is the first argument."""
    return "same"


def part(*_: Any) -> str:
    """The result is a view of the first argument."""
    return "part"


def same_if_alike(before: TensorType | None, after: TensorType | None, given: dict[str, Any]) -> str:
    """The first argument where it has the dtype and the order of elements already."""
    if given.get("copy") is True:
        return "no"
    if before is None or after is None or not _laid_out(before, after):
        return "maybe"
    return "same" if (before.dtype, before.strides) == (after.dtype, after.strides) else "no"


def same_unless_trained(before: Any, after: Any, given: dict[str, Any]) -> str:
    """Dropout: the first argument where nothing is left out."""
    return "no" if given.get("train") is True and given.get("p") != 0 else "same"


def part_if_possible(before: TensorType | None, after: TensorType | None, given: dict[str, Any]) -> str:
    """A view where the new shape has strides in the same memory."""
    if before is None or after is None or not _laid_out(before, after):
        return "maybe"
    numbers = [*before.dims, *before.strides, *after.dims]
    if not all(isinstance(n, int) for n in numbers):
        return "maybe"
    return "part" if _viewable(before.dims, before.strides, after.dims) else "no"  # type: ignore[arg-type]


def _laid_out(*types: TensorType) -> bool:
    return all(len(t.strides) == len(t.dims) for t in types)


def _viewable(dims: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> bool:
    """True if no axis of the new shape crosses a border between two runs of memory."""
    if 0 in dims:
        return True
    axes = [(n, s) for n, s in zip(dims, strides) if n != 1]
    before = accumulate((n for n, _ in axes), mul)
    borders = {count for count, (_, s), (m, t) in zip(before, axes, axes[1:]) if s != m * t}
    return borders <= set(accumulate(new, mul))
