"""The parts of a module, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from texpr.graph.capture.variable import Structures

V = TypeVar("V")


class Registry(dict[str, V]):
    """A dict whose changes are noted, however they are made: programs that were captured before
    may not hold any more.
    """

    __slots__ = ()


def _noted(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def changing(self: Registry, *args: Any, **kwargs: Any) -> Any:
        before = len(self)
        found = method(self, *args, **kwargs)
        if name != "pop" or len(self) != before:
            Structures.change()
        return found

    changing.__doc__ = method.__doc__
    return changing


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Registry, _name, _noted(_name))
