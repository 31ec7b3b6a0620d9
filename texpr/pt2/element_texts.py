"""Expressions of elements, in the dtypes that PyTorch computes them in.

Promotion: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from typing import Any

from texpr.graph import Symbolic
from texpr.graph.arrays import operator_texts
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F16, F32, I64, DType


def each(name: str, expression: str, *operands: Any, result: DType, computed: DType | None = None) -> Any:
    """An expression of the elements of up to three operands, which broadcast: `{0}`, `{1}`, `{2}`.
    Numbers become parts of the text.

    Args:
        result: the dtype of the result.
        computed: the dtype to which elements are converted first; none without it.
    """
    tensors = [x for x in operands if isinstance(x, Symbolic)]
    places = {id(x): f"{{{k}}}" for k, x in enumerate(tensors)}
    t = computed or (tensors[0].dtype if tensors else F32)
    words = [places[id(x)] if isinstance(x, Symbolic) else number(x, t) for x in operands]
    text = expression.format(*words)
    shapes, dtypes = [x.shape for x in tensors], [x.dtype for x in tensors]
    return operator_texts.elementwise(f"aten_{name}", text, shapes, dtypes, result, computed)(*tensors)


def number(value: Any, t: DType) -> str:
    """A number as the language writes it, for a dtype."""
    if t == BOOL:
        return "true" if value else "false"
    if t.is_int and value == int(value):
        return str(int(value)) if value >= 0 else f"({int(value)})"
    value = float(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "(-inf)"
    return repr(value) if value >= 0 and not repr(value).startswith("-") else f"({value!r})"


def _category(x: Any) -> int:
    """0 for truth values, 1 for integers, 2 for floats."""
    if isinstance(x, Symbolic):
        return 0 if x.dtype == BOOL else 1 if x.dtype.is_int else 2
    return 0 if isinstance(x, bool) else 1 if isinstance(x, int) else 2


def _of_number(x: Any) -> DType:
    return (BOOL, I64, F32)[_category(x)]


def promoted_types(a: DType, b: DType) -> DType:
    """The dtype of a result over two."""
    if a == b or b == BOOL:
        return a
    if a == BOOL:
        return b
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.is_float:
        return F32 if {a, b} == {F16, BF16} else max(a, b, key=lambda t: t.bits)
    if a.is_signed == b.is_signed:
        return max(a, b, key=lambda t: t.bits)
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    return signed if signed.bits > unsigned.bits else DTYPES[f"i{min(2 * unsigned.bits, 64)}"]


def promoted(*operands: Any) -> DType:
    """The dtype of a result over tensors and numbers: those with axes count before those without,
    these before numbers, unless a later one is of a higher category.
    """
    groups = [
        [x for x in operands if isinstance(x, Symbolic) and x.ndim],
        [x for x in operands if isinstance(x, Symbolic) and not x.ndim],
        [x for x in operands if not isinstance(x, Symbolic)],
    ]
    found, category = BOOL, -1
    for group in groups:
        highest = max(map(_category, group), default=-1)
        if highest <= category:
            continue
        types = [x.dtype if isinstance(x, Symbolic) else _of_number(x) for x in group]
        t = types[0]
        for other in types[1:]:
            t = promoted_types(t, other)
        found, category = t, highest
    return found


def as_float(t: DType) -> DType:
    """The dtype of a function of floats: f32 for integers."""
    return t if t.is_float else F32


def alike(*operands: Any) -> list[Any]:
    """Operands in the dtype of all of them; numbers as they are."""
    t = promoted(*operands)
    return [x.astype(t) if isinstance(x, Symbolic) else x for x in operands]
