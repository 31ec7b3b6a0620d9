"""Checks of layers' arguments."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from texpr.ir.dtypes import DTYPES, DType, from_numpy
from texpr.support.errors import CallError


def whole(layer: str, name: str, value: object, least: int = 1) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:  # type: ignore[attr-defined]
        raise CallError(
            f"{layer}: {name} is {value!r}, expected an integer of at least {least}", code="arguments"
        )
    return value.__index__()  # type: ignore[attr-defined]


def sizes(layer: str, name: str, value: object, rank: int, least: int = 1) -> tuple[int, ...]:
    """An integer for all directions, or one for each of them."""
    if isinstance(value, tuple | list):
        if len(value) != rank:
            several = {1: "one in a tuple", 2: "a pair of them"}.get(rank, f"{rank} of them")
            raise CallError(
                f"{layer}: {name} is {value!r}, expected an integer or {several}", code="arguments"
            )
        return tuple(whole(layer, name, v, least) for v in value)
    return (whole(layer, name, value, least),) * rank


def axis(layer: str, x: Any, dim: object, name: str = "dim") -> int:
    """An axis of `x`, counted from 0; negative numbers count from the end."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise CallError(f"{layer}: {name} is {dim!r}, expected an integer", code="arguments")
    at: int = dim.__index__()  # type: ignore[attr-defined]
    if not -x.ndim <= at < x.ndim:
        raise CallError(f"{layer}: there is no axis {at} of {x.ndim}", code="rank")
    return at % x.ndim


def one_of(layer: str, name: str, value: object, choices: Sequence[str]) -> str:
    """One of some words."""
    if value not in choices:
        raise CallError(
            f"{layer}: {name} is {value!r}, expected {', '.join(choices[:-1])} or {choices[-1]}",
            code="arguments",
        )
    return str(value)


def number(owner: str, name: str, value: object, least: float = 0.0, below: float = float("inf")) -> float:
    """A finite number in `least <= x < below`."""
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not good or not isfinite(value) or not least <= value < below:  # type: ignore[arg-type, operator]
        limit = f" and below {below:g}" if isfinite(below) else ""
        raise CallError(
            f"{owner}: {name} is {value!r}, expected a finite number of at least {least:g}{limit}",
            code="arguments",
        )
    return float(value)  # type: ignore[arg-type]


def share(owner: str, name: str, value: object) -> float:
    """A probability: a number from 0 to 1, both included."""
    if number(owner, name, value) > 1:
        raise CallError(f"{owner}: {name} is {value!r}, expected a number from 0 to 1", code="arguments")
    return float(value)  # type: ignore[arg-type]


def float_dtype(layer: str, dtype: object) -> DType:
    """A float of 8 to 64 bits, from its name or a NumPy dtype."""
    found = DTYPES.get(dtype) if isinstance(dtype, str) else dtype if isinstance(dtype, DType) else None
    if found is None:
        try:
            found = from_numpy(np.dtype(dtype))  # type: ignore[arg-type]
        except TypeError:
            found = None
    if found is None or not found.is_float:
        raise CallError(
            f"{layer}: dtype is {dtype!r}, expected f32, f64, f16, bf16, f8e4m3 or f8e5m2", code="dtype"
        )
    return found
