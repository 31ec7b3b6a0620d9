"""Nested containers of arguments and results: dicts, lists, tuples, named tuples, data classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from texpr.support.frozen_dataclass import frozen


@frozen
class Tree:
    """The shape of nested containers: `kind` with `names` of what they hold; a leaf where there
    is no kind.
    """

    kind: type | None
    names: tuple[object, ...] = ()
    below: tuple[Tree, ...] = ()

    def built(self, leaves: Iterator[Any]) -> Any:
        """The containers again, around these leaves."""
        if self.kind is None:
            return next(leaves)
        parts = [t.built(leaves) for t in self.below]
        if issubclass(self.kind, dict):
            return dict(zip(self.names, parts))
        if is_dataclass(self.kind):
            return self.kind(**dict(zip(self.names, parts)))  # type: ignore[arg-type]
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)  # type: ignore[call-arg]


_LEAF = Tree(None)


def flattened(value: Any, leaves: list[Any]) -> Tree:
    """Append the leaves of nested containers; how they were nested. Depth is that of the
    containers.
    """
    kind, parts = type(value), _parts(value)
    if parts is None:
        leaves.append(value)
        return _LEAF
    return Tree(kind, tuple(parts), tuple(flattened(p, leaves) for p in parts.values()))


def _parts(value: Any) -> dict[object, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return None
