"""Nested arguments and results: tensors in containers, beside values that only say how to
compute.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from texpr.graph import Symbolic, Variable
from texpr.graph.lazy.pytrees import Tree, flattened
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


@frozen
class Plain:
    """A value that is no tensor. 1, 1.0 and True are equal and say different things, and so do
    0.0 and -0.0.
    """

    kind: type
    text: str
    value: Hashable


@frozen
class Skeleton:
    """Nested containers without their tensors, which are None among `values`: what a captured
    program depends on.
    """

    tree: Tree
    values: tuple[Plain | None, ...]
    number: int = field(init=False, repr=False, compare=False)
    """Its hash: found once, since every call looks for its program."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", hash((self.tree, self.values)))

    def __hash__(self) -> int:
        return self.number


@cache
def positional(count: int) -> Skeleton:
    """The skeleton of so many arrays by position, and nothing by name: what most calls are."""
    return skeleton(((np.empty(0),) * count, {}))


def is_tensor(value: object) -> bool:
    """True if a value is data: an array, a symbolic tensor, a variable, or another library's array."""
    return isinstance(value, np.ndarray | np.generic | Symbolic | Variable) or hasattr(value, "__array__")


def leaves(tree: object) -> Iterator[Any]:
    """The tensors of a tree, in order."""
    found: list[Any] = []
    flattened(tree, found)
    return filter(is_tensor, found)


def skeleton(tree: object) -> Skeleton:
    """A tree without its tensors.

    Raises:
        CallError: a value that is no tensor and cannot be compared.
    """
    found: list[Any] = []
    nested = flattened(tree, found)
    return Skeleton(nested, tuple(None if is_tensor(x) else _plain(x) for x in found))


def _plain(value: object) -> Plain:
    if not isinstance(value, Hashable):
        raise CallError(
            f"an argument is a {type(value).__name__}, expected tensors, numbers, texts, or containers of "
            f"them",
            code="arguments",
        )
    return Plain(type(value), str(value) if isinstance(value, float) else "", value)


def rebuild(nesting: Skeleton, tensors: Iterable[Any]) -> Any:
    """The tree of a skeleton with these tensors."""
    rest = iter(tensors)
    return nesting.tree.built(
        iter([next(rest) if value is None else value.value for value in nesting.values])
    )


def _array(value: object) -> np.ndarray:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise CallError(f"an argument is no array: {error}", code="type") from None


def argument(value: object) -> object:
    """A positional argument: numbers, and sequences of nothing but numbers, are arrays; truth
    values are not.
    """
    if isinstance(value, tuple | list):
        return value if any(True for _ in leaves(value)) else _array(value)
    return np.asarray(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
