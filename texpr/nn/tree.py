"""Nested arguments and results: tensors in tuples, lists and dicts, beside values that only say how to compute."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from texpr.graph import Symbolic, Variable
from texpr.support.errors import CallError


@dataclass(frozen=True, slots=True)
class Branch:
    """A tuple, list or dict, with what is at its places."""

    kind: type
    keys: tuple[str, ...]
    parts: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that is no tensor. 1, 1.0 and True are equal and say different things, and so do 0.0 and -0.0."""

    kind: type
    text: str
    value: Hashable


class _Tensor:
    """Stands where a tensor was."""

    def __repr__(self) -> str:
        return "tensor"


TENSOR = _Tensor()


def is_tensor(value: object) -> bool:
    """Whether a value is data: an array, a symbolic tensor, a variable, or another library's array."""
    return isinstance(value, np.ndarray | np.generic | Symbolic | Variable) or hasattr(value, "__array__")


def leaves(tree: object) -> Iterator[Any]:
    """The tensors of a tree, in order."""
    if is_tensor(tree):
        yield tree
    elif isinstance(tree, tuple | list | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(part)


def skeleton(tree: object) -> Hashable:
    """A tree without its tensors: what a captured program depends on.

    Raises:
        CallError: a value that is no tensor and cannot be compared.
    """
    if is_tensor(tree):
        return TENSOR
    if isinstance(tree, tuple | list | dict):
        parts = tree.values() if isinstance(tree, dict) else tree
        return Branch(type(tree), tuple(tree) if isinstance(tree, dict) else (), tuple(skeleton(p) for p in parts))
    if not isinstance(tree, Hashable):
        raise CallError(f"an argument is a {type(tree).__name__}, expected tensors, numbers, texts, or tuples, lists and dicts of them",
                        code="arguments")
    return Plain(type(tree), str(tree) if isinstance(tree, float) else "", tree)


def rebuilt(bones: Hashable, tensors: Iterable[Any]) -> Any:
    """The tree of a skeleton with these tensors."""
    return _filled(bones, iter(tensors))


def _filled(bones: Hashable, tensors: Iterator[Any]) -> Any:
    if bones is TENSOR:
        return next(tensors)
    if isinstance(bones, Plain):
        return bones.value
    assert isinstance(bones, Branch), "a skeleton has tensors, values and branches"
    parts = [_filled(part, tensors) for part in bones.parts]
    if bones.keys:
        return dict(zip(bones.keys, parts))
    return bones.kind(*parts) if hasattr(bones.kind, "_fields") else bones.kind(parts)


def argument(value: object) -> object:
    """A positional argument: numbers, and sequences of nothing but numbers, are arrays; truth values are not."""
    if isinstance(value, tuple | list):
        return value if any(True for _ in leaves(value)) else np.asarray(value)
    return np.asarray(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
