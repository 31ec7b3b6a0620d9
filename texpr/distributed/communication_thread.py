"""One thread that reduces buffers over the ranks while the caller computes.

MPI libraries do not progress nonblocking reductions without calls into MPI (open-mpi/ompi#2427), so
reductions that overlap with computation are blocking calls on a thread of their own. It is a daemon:
a thread that is alive would keep a failing rank from ending.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from time import monotonic
from typing import Protocol

import numpy as np

from texpr.distributed.rank_checks import DistributedError

_AT_EXIT = 5.0
"""Seconds that the end of a process waits for what the thread still does."""


class Reduces(Protocol):
    """Part of a communicator that the thread needs."""

    timeout: float

    def reduce_into(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> None:
        """Replace a flat buffer by the reduction of all ranks'."""
        ...


class Pending:
    """A reduction that was begun.

    Attributes:
        started, ended: readings of `time.monotonic`, 0 before.
    """

    def __init__(self, buffer: np.ndarray, op: str, reduction: str, timeout: float) -> None:
        self.buffer, self.op, self.reduction, self.timeout = buffer, op, reduction, timeout
        self.started = self.ended = 0.0
        self.error: BaseException | None = None
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """True once the buffer holds the result, or the reduction has failed."""
        return self._done.is_set()

    def finish(self, error: BaseException | None = None) -> None:
        """Called by the thread at the end."""
        self.error, self.ended = error, monotonic()
        self._done.set()

    def wait(self) -> np.ndarray:
        """The buffer, once it holds the result.

        Raises:
            DistributedError: it takes longer than the communicator's `timeout`.
            Exception: what the reduction raised.
        """
        if not self._done.wait(self.timeout):
            raise DistributedError(
                f"an allreduce of {self.buffer.nbytes} bytes has not ended within {self.timeout:g} s",
                code="ranks",
                help="another rank hangs or does not make this call; comm.barrier(timeout=...) names it",
            )
        if self.error is not None:
            raise self.error
        return self.buffer


class CommunicationThread:
    """Reduces buffers in the order in which they were submitted, one at a time.

    All ranks must submit buffers of the same sizes in the same order. A buffer must not be read or
    written before `wait` of its reduction has returned. Collectives of the communicator wait for
    the thread first.

    Args:
        comm: has `reduce_into` and `timeout`.
    """

    def __init__(self, comm: Reduces) -> None:
        self._comm, self._work, self._now = comm, deque[Pending](), None
        self._changed = threading.Condition()
        self._failed: BaseException | None = None
        self._last: Pending | None = None
        self._thread: threading.Thread | None = None

    def submit(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> Pending:
        """Begin a reduction of a flat, contiguous buffer in place.

        Raises:
            Exception: an earlier reduction failed with it.
        """
        if buffer.ndim != 1 or not buffer.flags.c_contiguous or not buffer.flags.writeable:
            raise AssertionError("a buffer to be reduced is flat, contiguous and writable")
        pending = Pending(buffer, op, reduction, self._comm.timeout)
        with self._changed:
            if self._failed is not None:
                raise self._failed
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="texpr-communication", daemon=True)
                self._thread.start()
                atexit.register(self._end)
            self._work.append(pending)
            self._last = pending
            self._changed.notify()
        return pending

    def drain(self) -> None:
        """Wait for all that was submitted.

        Raises:
            DistributedError: it takes longer than the communicator's `timeout`.
            Exception: what a reduction raised.
        """
        last = self._last
        if last is not None:
            last.wait()
            self._last = None

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._work:
                    self._changed.wait()
                pending = self._work.popleft()
            pending.started = monotonic()
            try:
                if self._failed is not None:  # the ranks are no longer in step
                    raise self._failed
                self._comm.reduce_into(pending.buffer, pending.op, pending.reduction)
            except BaseException as error:
                self._failed = error
                pending.finish(error)
            else:
                pending.finish()

    def _end(self) -> None:
        """MPI must not end in the midst of a call."""
        last = self._last
        if last is not None:
            last._done.wait(_AT_EXIT)
