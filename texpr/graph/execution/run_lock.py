"""One run of a program at a time: runs share its memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from texpr.support.errors import CallError
from texpr.support.forks import held_over_forks


class RunLock:
    """Mutual exclusion of runs: other threads wait; what is called by a run itself, and wants
    another one, is refused.

    Attributes:
        lock: held during a run.
        running: whether there is one. It is looked at, and set, with the lock.
    Args:
        name: of the program.
    """

    __slots__ = ("lock", "name", "running")

    def __init__(self, name: str) -> None:
        self.lock, self.name, self.running = held_over_forks(threading.RLock()), name, False

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """A run.

        Raises:
            CallError: one goes on in this thread: an operator that it calls, or a signal handler,
                wants another one.
        """
        with self.lock:
            if self.running:
                self.raise_busy()
            try:
                self.running = True
                yield
            finally:
                self.running = False

    def raise_busy(self) -> NoReturn:
        """Refuse a run, with the lock: only this thread can have the other one."""
        raise CallError(
            f"`{self.name}` is called while it runs, by an operator of its own or by a signal handler",
            code="running",
            help="both would write the same memory: trace the function once more for that call",
        )
