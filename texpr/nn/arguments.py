"""Checks of layers' arguments."""

from __future__ import annotations

from math import isfinite

import numpy as np

from texpr.ir.dtypes import DTYPES, DType, from_numpy
from texpr.support.errors import CallError


def whole(layer: str, name: str, value: object, least: int = 1) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:  # type: ignore[attr-defined]
        raise CallError(f"{layer}: {name} is {value!r}, expected an integer of at least {least}", code="arguments")
    return value.__index__()  # type: ignore[attr-defined]


def pair(layer: str, name: str, value: object, least: int = 1) -> tuple[int, int]:
    """An integer for both directions, or one each for height and width."""
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise CallError(f"{layer}: {name} is {value!r}, expected an integer or a pair of them", code="arguments")
        return whole(layer, name, value[0], least), whole(layer, name, value[1], least)
    both = whole(layer, name, value, least)
    return both, both


def number(owner: str, name: str, value: object, least: float = 0.0, below: float = float("inf")) -> float:
    """A finite number in `least <= x < below`."""
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not good or not isfinite(value) or not least <= value < below:  # type: ignore[arg-type, operator]
        limit = f" and below {below:g}" if isfinite(below) else ""
        raise CallError(f"{owner}: {name} is {value!r}, expected a finite number of at least {least:g}{limit}", code="arguments")
    return float(value)  # type: ignore[arg-type]


def float_dtype(layer: str, dtype: object) -> DType:
    """f32 or f64, from its name or a NumPy dtype."""
    found = DTYPES.get(dtype) if isinstance(dtype, str) else dtype if isinstance(dtype, DType) else None
    if found is None:
        try:
            found = from_numpy(np.dtype(dtype))  # type: ignore[arg-type]
        except TypeError:
            found = None
    if found not in (DTYPES["f32"], DTYPES["f64"]):
        raise CallError(f"{layer}: dtype is {dtype!r}, expected f32 or f64", code="dtype")
    return found  # type: ignore[return-value]
