"""Operands of NumPy's functions: tensors and arrays of one dtype, axes, parts along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph.arrays.array_functions import cast_any, common_dtype, is_number, operand
from texpr.ir.dtypes import DType
from texpr.support.errors import CallError


def strong(x: Any) -> Any:
    """An operand whose dtype counts in promotion: NumPy's functions take a number as an array."""
    found = operand(x)
    return np.asarray(found) if is_number(found) else found


def alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays as operands of one dtype."""
    given = [strong(a) for a in arrays]
    t = common_dtype(*given)
    return [cast_any(a, t) for a in given]


def is_tensor(x: object) -> bool:
    """True for what has texpr's dtypes, not for an array of NumPy's."""
    return isinstance(getattr(x, "dtype", None), DType)


def places(axes: Any, rank: int) -> Any:
    """Axes counted from the start, in the order given; None where one is not there, or there
    twice.
    """
    given = [axes] if isinstance(axes, int) else list(axes)
    found = [n + rank if n < 0 else n for n in given]
    return found if all(0 <= n < rank for n in found) and len(set(found)) == len(found) else None


def at_axis(x: Any, axis: int, key: Any) -> Any:
    """`x` with an index along one axis."""
    return x[(*[slice(None)] * axis, key)]


def by_places(x: Any, axis: int, indices: Any) -> Any:
    """The parts at places of an axis, which an array gives."""
    return at_axis(x, axis, np.asarray(indices, np.int64))


def tensor_of(x: Any) -> Any:
    """An operand with the method `own`: only tensors have it."""
    found = strong(x)
    if not is_tensor(found):
        raise CallError(
            "an array of NumPy's among tensors whose axes are asked for",
            code="arguments",
            help="tx.tensor(x)",
        )
    return found
