"""A few things that were made, kept for when they are wanted again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """A cache of the values that were used last, by key; the rest is forgotten."""

    def __init__(self, size: int = 32) -> None:
        self._size = size
        self._made: dict[Hashable, T] = {}
        self._last: tuple[Hashable, T] | None = None

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made where it is not there."""
        last = self._last
        if last is not None and last[0] == key:  # in nearly all calls; hashing a long key takes longer
            return last[1]
        found = self._made.pop(key, None)
        if found is None:
            found = make()
        self._made[key] = found
        self._last = key, found
        if len(self._made) > self._size:
            self._made.pop(next(iter(list(self._made)), key), None)  # other threads may come first
        return found

    def forget(self, key: Hashable) -> None:
        """Have the value of `key` made anew."""
        self._made.pop(key, None)
        self._last = None

    def __reduce__(self) -> tuple:
        """Copies and pickles begin empty."""
        return LruCache, (self._size,)

    def __len__(self) -> int:
        return len(self._made)
