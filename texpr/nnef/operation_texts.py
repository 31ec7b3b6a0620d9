"""Operators written for the ranks, dtypes and attributes at hand, as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from texpr.compiler import op
from texpr.graph import Symbolic
from texpr.graph.arrays import operator_texts
from texpr.ir.dtypes import F32, DType

written: Callable[[str], Any] = lru_cache(maxsize=4096)(op)
"""The operator of a text; the same object for the same text."""


def each(
    name: str, expression: str, *operands: Any, result: DType | None = None, computed: DType | None = None
) -> Any:
    """An expression of the elements of up to three tensors, `{0}`, `{1}`, `{2}`, which broadcast as
    NNEF has it: shapes are aligned at the first axis. Numbers among the operands stand in the text.

    Args:
        result: the dtype of the result; that of the first tensor without it.
        computed: the dtype to which elements are converted first.
    """
    tensors = [x for x in operands if isinstance(x, Symbolic)]
    rank = max(x.ndim for x in tensors)
    places = iter(range(len(tensors)))
    texts = [f"{{{next(places)}}}" if isinstance(x, Symbolic) else number(x) for x in operands]
    given = [x.reshape(*x.shape, *[1] * (rank - x.ndim)) if x.ndim < rank else x for x in tensors]
    return operator_texts.elementwise(
        f"nnef_{name}",
        expression.format(*texts),
        [x.shape for x in given],
        [x.dtype for x in given],
        result or given[0].dtype,
        computed,
    )(*given)


def typed(t: object, dims: Iterable[object]) -> str:
    """The type of a tensor; without dimensions, that of a number."""
    inside = ", ".join(map(str, dims))
    return f"{t}[{inside}]" if inside else str(t)


def at(indices: Iterable[object]) -> str:
    """Indices in brackets, or nothing."""
    inside = ", ".join(map(str, indices))
    return f"[{inside}]" if inside else ""


def names(letter: str, count: int) -> list[str]:
    """So many names."""
    return [f"{letter}{k}" for k in range(count)]


def ranges(indices: Sequence[str], extents: Sequence[object]) -> str:
    """The ranges of indices on the left of an equation."""
    return "for " + ", ".join(f"{n} in 0..{e}" for n, e in zip(indices, extents)) if indices else ""


def from_end(index: str, extent: int) -> str:
    """A place of an axis, which counts from the end where it is below 0."""
    return f"(if {index} < 0 then i64({index}) + {extent} else i64({index}))"


def wide(t: DType) -> DType:
    """The dtype in which a float is computed: f32 for those below 32 bits."""
    return F32 if t.bits < 32 else t


def number(value: Any) -> str:
    """A number as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "(-inf)"
    return f"({value!r})" if value < 0 else repr(value)
