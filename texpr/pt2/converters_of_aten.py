"""The table of ATen's operators: for each a function that computes it by operators of texpr.

A function has the parameter names and the defaults of the operator's schema in PyTorch, after the
node; an entry without a dot stands for all overloads of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from typing import Any

from texpr.pt2.memory_layouts import Shares, copy, part
from texpr.support.frozen_dataclass import frozen


@frozen
class Converter:
    """The converter of an operator.

    Attributes:
        convert: takes the node and its arguments by name, gives its outputs.
        shares: how its result lies in memory, a function of `memory_layouts`.
    """

    convert: Callable[..., Any]
    shares: Shares = copy


CONVERTERS: dict[str, Converter] = {}
"""By the words behind `torch.ops.`, without `aten.` and perhaps without the overload."""
WRITERS: dict[str, Callable[..., Any]] = {}
"""For views, by the same names: gives the first argument with other values in the place of the view.
It takes that argument, the values, which of several outputs they are for, and the node's other
arguments by name.
"""


def aten(*names: str, shares: Shares = copy) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function in the table."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in CONVERTERS, f"{name} has a converter already"
            CONVERTERS[name] = Converter(function, shares)
        return function

    return enter


def writes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter what writes into views."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        WRITERS.update(dict.fromkeys(names, function))
        return function

    return enter


def find(operator: str) -> tuple[Converter, bool] | None:
    """The converter of an operator such as `relu.default`, and True if it writes into its argument."""
    name = operator.partition(".")[0]
    if operator.endswith(".out") or operator.endswith("_out"):
        return None
    for key in (operator, name):
        if key in CONVERTERS:
            return CONVERTERS[key], False
    functional = name.removesuffix("_")
    in_place = functional != name and functional in CONVERTERS and not name.endswith("__")
    if not in_place:
        return None
    return CONVERTERS[functional], CONVERTERS[functional].shares is not part  # `t_` writes no elements


@cache
def parameters(converter: Converter) -> tuple[frozenset[str], bool]:
    """Names of the arguments that a converter takes, and True if it takes any."""
    _, *given = signature(converter.convert).parameters.values()
    return (
        frozenset(p.name for p in given),
        any(p.kind is Parameter.VAR_KEYWORD or p.kind is Parameter.VAR_POSITIONAL for p in given),
    )
