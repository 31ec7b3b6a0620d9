"""The table of ATen's operators: for each a function that computes it by operators of texpr.

A function has the parameter names and the defaults of the operator's schema in PyTorch, after the
node; an entry without a dot stands for all overloads of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from typing import Any

from texpr.support.frozen_dataclass import frozen


@frozen
class Converter:
    """The converter of an operator.

    Attributes:
        convert: takes the node and its arguments by name, gives its outputs.
        same: the result is its first argument under another name.
        view: in PyTorch, the result may share memory with its first argument.
    """

    convert: Callable[..., Any]
    same: bool = False
    view: bool = False


CONVERTERS: dict[str, Converter] = {}
"""By the words behind `torch.ops.`, without `aten.` and perhaps without the overload."""


def aten(
    *names: str, same: bool = False, view: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function in the table."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in CONVERTERS, f"{name} has a converter already"
            CONVERTERS[name] = Converter(function, same, view)
        return function

    return enter


def find(operator: str) -> tuple[Converter, bool] | None:
    """The converter of an operator such as `relu.default`, and True if it works in place."""
    name = operator.partition(".")[0]
    if operator.endswith(".out") or operator.endswith("_out"):
        return None
    for key in (operator, name):
        if key in CONVERTERS:
            return CONVERTERS[key], False
    functional = name.removesuffix("_")
    in_place = functional != name and functional in CONVERTERS and not name.endswith("__")
    return (CONVERTERS[functional], True) if in_place else None


@cache
def parameters(converter: Converter) -> tuple[frozenset[str], bool]:
    """Names of the arguments that a converter takes, and True if it takes any."""
    _, *given = signature(converter.convert).parameters.values()
    return (
        frozenset(p.name for p in given),
        any(p.kind is Parameter.VAR_KEYWORD or p.kind is Parameter.VAR_POSITIONAL for p in given),
    )
