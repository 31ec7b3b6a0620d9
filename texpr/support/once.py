"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """As `functools.cached_property`, and what it gives never changes: where threads compute it at
    the same time, all get the value of the first that is done.

    Up to Python 3.11 `cached_property` has a lock for all objects of a class, which stays locked in
    a child that is forked while another thread computes. From 3.12 on it keeps the last value, and
    code whose address was taken from another is freed.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self._name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object, owner: type | None = None) -> T | once[T]:
        if instance is None:
            return self
        # An instance's own attributes come first: it is asked for here until it is there.
        kept = instance.__dict__
        return (
            kept[self._name] if self._name in kept else kept.setdefault(self._name, self._compute(instance))
        )
