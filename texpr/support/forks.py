"""Locks over a fork: in the child only the thread that forked goes on, and a lock that another one holds stays shut for ever.

So a fork waits until nobody else holds a lock that is registered here, and then what the locks guard is whole in the child. It never waits
for one lock while it holds another: threads take several in any order, and inside of what they run.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol, TypeVar
from weakref import WeakSet


class Lockable(Protocol):
    """A lock that the thread which holds it may take again."""

    def acquire(self, blocking: bool = True) -> bool: ...

    def release(self) -> None: ...


L = TypeVar("L", bound=Lockable)

_locks: WeakSet[Lockable] = WeakSet()
_adding = threading.RLock()
_held: list[Lockable] = []
"""During a fork."""


def held_over_forks(lock: L) -> L:
    """Register a lock; the lock."""
    with _adding:
        _locks.add(lock)
    return lock


def _acquire_all() -> None:
    with _adding:
        locks = [*_locks, _adding]
    busy = _first_busy(locks)
    while busy is not None:
        waited_for = busy
        waited_for.acquire()
        busy = _first_busy(locks)
        waited_for.release()


def _first_busy(locks: list[Lockable]) -> Lockable | None:
    """Take all locks without waiting; if somebody holds one, that one, and none is taken."""
    for lock in locks:
        if not lock.acquire(blocking=False):
            _release(_held)
            return lock
        _held.append(lock)
    return None


def _release(locks: list[Lockable]) -> None:
    for lock in reversed(locks):
        lock.release()
    locks.clear()


def _release_all() -> None:
    _release(_held)


os.register_at_fork(before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all)
