"""Operators written for the ranks, dtypes and attributes at hand, as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from texpr.compiler import op
from texpr.graph.arrays import operator_texts
from texpr.ir.dtypes import F32, DType

written: Callable[[str], Any] = lru_cache(maxsize=4096)(op)
"""The operator of a text; the same object for the same text."""


def each(
    name: str, expression: str, *operands: Any, result: DType | None = None, computed: DType | None = None
) -> Any:
    """An expression of the elements of up to three tensors, which broadcast: `{0}`, `{1}`, `{2}`.

    Args:
        result: the dtype of the result; that of the first operand without it.
        computed: the dtype to which elements are converted first.
    """
    dtypes = [x.dtype for x in operands]
    shapes = [x.shape for x in operands]
    return operator_texts.elementwise(
        f"onnx_{name}", expression, shapes, dtypes, result or dtypes[0], computed
    )(*operands)


def typed(t: object, dims: Iterable[object]) -> str:
    """The type of a tensor; without dimensions, that of a number."""
    inside = ", ".join(map(str, dims))
    return f"{t}[{inside}]" if inside else str(t)


def at(indices: Iterable[object]) -> str:
    """Indices in brackets, or nothing."""
    inside = ", ".join(map(str, indices))
    return f"[{inside}]" if inside else ""


def axes(letter: str, count: int) -> list[str]:
    """So many names."""
    return [f"{letter}{k}" for k in range(count)]


def ranges(names: Sequence[str], extents: Sequence[object]) -> str:
    """The ranges of indices on the left of an equation."""
    return "for " + ", ".join(f"{n} in 0..{e}" for n, e in zip(names, extents)) if names else ""


def wide(t: DType) -> DType:
    """The dtype in which a float is computed: f32 for those below 32 bits."""
    return F32 if t.bits < 32 else t


def number(value: float) -> str:
    """A float as the language writes it."""
    value = float(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "(-inf)"
    return f"({value!r})" if value < 0 else repr(value)
