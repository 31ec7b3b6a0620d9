"""Locks over a fork: in the child only the thread that forked goes on, and a lock that another one
holds stays shut for ever.

So a fork waits until nobody else holds a lock that is registered here, and then what the locks
guard is whole in the child. It never waits for one lock while it holds another: threads take
several in any order, and inside of what they run. It waits for modules of this package that another
thread imports, too, whose locks are Python's.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
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
_late: set[str] = set()
"""Modules of others that functions of this package import: a fork waits for them too."""


def held_over_forks(lock: L) -> L:
    """Register a lock; the lock."""
    with _adding:
        _locks.add(lock)
    return lock


def waited_for(module: str) -> None:
    """Let forks wait while a module of others is imported."""
    _late.add(module)


def _acquire_all() -> None:
    while True:
        own = _wait_for_imports()
        _acquire_locks()
        if _imported_by_parts() <= own:
            return
        _release_all()  # since then another thread began to import


def _acquire_locks() -> None:
    with _adding:
        locks = [*_locks, _adding]
    busy = _first_busy(locks)
    while busy is not None:
        waited_for = busy
        waited_for.acquire()
        busy = _first_busy(locks)
        waited_for.release()


def _wait_for_imports() -> set[str]:
    """Modules of this package that are imported while this is called, by this thread: for those
    of others it waits.
    """
    waited_for: set[str] = set()
    while (found := _imported_by_parts()) - waited_for:
        for name in found:
            with suppress(Exception):  # what it raises is told to who imports it
                import_module(name)
        waited_for = found
    return waited_for


def _imported_by_parts() -> set[str]:
    """Modules whose text still runs."""
    loaded = [
        (name, module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "texpr" or name in _late
    ]
    return {
        name for name, module in loaded if getattr(getattr(module, "__spec__", None), "_initializing", False)
    }


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
