"""Torch's names of arguments, `dim` and `keepdim`, for methods that have NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texpr.support.errors import CallError

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims", "correction": "ddof", "unbiased": "ddof"}
PAIRS = ("max", "min", "sort")
"""Methods that return values and places in torch, if `dim` is given."""
_DIVISORS = ("var", "std")


def numpy_arguments(method: Callable[..., Any]) -> frozenset[str]:
    """Arguments of torch that a method takes under NumPy's names."""
    code = method.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return frozenset(name for name, own in NUMPY_NAMES.items() if own in known)


def with_numpy_names(name: str, options: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """The options of a call, under NumPy's names.

    Args:
        name: of the method.
        given: what `numpy_arguments` says of it.
    Raises:
        CallError: an argument is given under both names; the divisor of torch is another one.
    """
    named = given.intersection(options)
    if not named:
        return options
    if "dim" in named and name in _DIVISORS and not {"correction", "ddof", "unbiased"} & options.keys():
        raise CallError(
            f"{name} over `dim` without `correction`: torch divides by n - 1, NumPy by n",
            code="arguments",
            help=f"x.{name}(dim=0, correction=1), or x.{name}(axis=0)",
        )
    found = {key: value for key, value in options.items() if key not in named}
    for key in named:
        if NUMPY_NAMES[key] in found:
            raise CallError(
                f"{name} has `{key}` and `{NUMPY_NAMES[key]}`, which are one argument", code="arguments"
            )
        found[NUMPY_NAMES[key]] = int(options[key]) if key == "unbiased" else options[key]
    return found
