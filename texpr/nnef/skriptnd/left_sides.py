"""Left sides of formulas: which elements they name, and indices that may be outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from texpr.ir.dtypes import DTYPES, int_range
from texpr.nnef.skriptnd.expression_evaluation import Evaluator, index_text, whole_dimension
from texpr.nnef.skriptnd.operator_text import OperatorText, digits_of, names_of_all
from texpr.nnef.skriptnd.runtime_terms import WHOLE_DIMENSION, Edge, Tensor, Term, is_whole
from texpr.nnef.skriptnd.scalar_terms import Refusal, chosen, compared, logical
from texpr.nnef.skriptnd.size_polynomials import (
    IndexName,
    Size,
    Whole,
    bounds_of_size,
    floor_quotient,
    has_index,
    replaced,
    text_of,
)


@dataclass
class Scope:
    """A formula with values for its indices.

    Attributes:
        ranges: indices that are open, with their extents.
        bases: of each, the name in the formula and the place in its pack.
    """

    evaluate: Evaluator
    ranges: dict[IndexName, Whole] = field(default_factory=dict)
    bases: dict[IndexName, tuple[str, int]] = field(default_factory=dict)
    conditions: list[Any] = field(default_factory=list)


def spread(tensor: Any, left: list[Any], value: Any) -> Iterator[tuple[Tensor, list[Any], Any]]:
    """Single elements of an assignment of packs."""
    if isinstance(tensor, list):
        for k, one in enumerate(tensor):
            yield from spread(one, left, value[k] if isinstance(value, list) else value)
        return
    for at, index in enumerate(left):
        items = None
        if index is WHOLE_DIMENSION:
            items = whole_dimension(tensor.shape[at])
        elif isinstance(index, list):
            items = index
        if items is not None:
            if isinstance(value, list) and len(value) != len(items):
                raise Refusal(f"{len(value)} values for {len(items)} elements")
            for k, item in enumerate(items):
                one = value[k] if isinstance(value, list) else value
                yield from spread(tensor, [*left[:at], item, *left[at + 1 :]], one)
            return
    yield tensor, left, value


def neutral_text(operator: str, text: OperatorText, kind: str) -> str:
    """The text of the value that changes nothing in an accumulation."""
    if operator in (">?=", "<?="):
        if kind == "int":
            dtype = text.dtypes["int"]
            return f"lowest({dtype})" if operator == ">?=" else str(int_range(DTYPES[dtype])[1])
        return "-inf" if operator == ">?=" else "inf"
    return {"+=": "0", "*=": "1", "|=": "false", "&=": "true"}.get(operator, "")


def inside(index: Any, extent: Whole) -> Any:
    """True if an index is one of a dimension's."""
    return logical("&&", compared(">=", index, 0), compared("<", index, extent))


def is_inside(index: Any, extent: Whole, ranges: dict[IndexName, Whole]) -> bool:
    """True if an index is one of a dimension's for all values of the indices in it."""
    if not is_whole(index):
        return False
    terms = index.terms if isinstance(index, Size) else {}
    if any(f < 0 for p, f in terms.items() if p and has_index(Size({p: f}))):
        return False
    last = replaced(index, {n: e - 1 for n, e in ranges.items()})
    low, _ = bounds_of_size(index)
    high = bounds_of_size(last - extent)[1]
    return low is not None and low >= 0 and high is not None and high < 0


def remapped(edge: Edge, extent: Whole) -> Any:
    """An index that another one stands for outside."""
    if edge.low == 0 and edge.high == extent - 1:
        return Term(f"clamp({index_text(edge.index)}, 0, {text_of(extent - 1)})", "int")
    behind = chosen(compared(">=", edge.index, extent), edge.high, edge.index)
    return chosen(compared("<", edge.index, 0), edge.low, behind)


def is_bare(left: list[Any], tensor: Tensor, scope: Scope) -> bool:
    """True if the left side names each element of a tensor once, by indices of their own."""
    names = [*names_of_all(tensor.prefix)]
    for index, extent in zip(left, tensor.shape):
        if index == 0 and isinstance(index, int) and extent == 1:
            continue
        name = index.single() if isinstance(index, Size) else None
        if name is None or scope.ranges.get(name, extent) != extent:  # type: ignore[arg-type]
            return False
        names.append(name)
    return len(names) == len(set(names))


def mixed_digits(left: list[Any], tensor: Tensor, scope: Scope, text: OperatorText) -> dict[Any, Any]:
    """Values for indices that a left side joins to one, `g * m + k` with `k < m`: a quotient and a
    remainder of a new index. Empty where it is another thing.
    """
    found: dict[Any, Any] = {}
    for at, (index, extent) in enumerate(zip(left, tensor.shape)):
        if not isinstance(index, Size) or index.single() is not None:
            if not is_whole(index):
                return {}
            continue
        digits = digits_of(index, extent, scope.ranges)
        others = names_of_all([*left[:at], *left[at + 1 :]])
        if digits is None or any(n in others or not isinstance(w, int) for n, w in digits):
            return {}
        joined = text.index("_".join(scope.bases[n][0] for n, _ in digits))
        for n, weight in digits:
            quotient = floor_quotient(joined, weight)
            size = scope.ranges[n]
            found[scope.bases[n]] = (
                quotient if n == digits[0][0] else quotient - size * floor_quotient(joined, weight * size)
            )
        found["", joined.single()] = extent
    return found
