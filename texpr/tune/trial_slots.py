"""Trials of one machine take turns for its cores: several at once on a core would time each other.

A core is a file that a trial locks; locks of a process that ends go with it. The files are those
of the user, so searches of several programs, and workers that MPI or Dask started on one node,
share them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from texpr.runtime import host

fcntl: Any
try:
    import fcntl
except ImportError:  # no such locks: trials are not kept apart
    fcntl = None

PAUSE = 0.01
"""Seconds between two looks for free cores."""


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Wait for so many cores of this machine, at most all of them, and keep them."""
    wanted = min(max(1, count), host.cores())
    with ExitStack() as held:
        while fcntl is not None and not _taken(wanted, held):
            time.sleep(PAUSE)
        yield


def _taken(wanted: int, held: ExitStack) -> bool:
    """True if so many files could be locked at once; else none is."""
    with ExitStack() as mine:
        found = 0
        for core in range(host.cores()):
            handle = os.open(_folder() / f"core-{core}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            mine.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            found += 1
            if found == wanted:
                held.push(mine.pop_all())
                return True
    return False


def _folder() -> Path:
    found = Path(tempfile.gettempdir()) / f"texpr-trials-{os.getuid()}"
    found.mkdir(mode=0o700, exist_ok=True)
    return found
