"""One thread that makes the collective calls of a rank, while the caller computes or waits.

MPI libraries do not progress nonblocking reductions without calls into MPI (open-mpi/ompi#2427), so
reductions that overlap with computation are blocking calls on a thread of their own. Other
collectives are made there too: a blocking call whose rank has stopped never returns, and the caller
gives up after a time. The thread is a daemon: one that is alive would keep a failing rank from
ending.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from texpr.distributed.rank_checks import DistributedError, named
from texpr.distributed.rank_processes import PERIOD, Watch

R = TypeVar("R")
_AT_EXIT = 5.0
"""Seconds that the end of a process waits for what the thread still does."""


class Reduces(Protocol):
    """Part of a communicator that the thread needs."""

    timeout: float

    def reduce_into(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> None:
        """Replace a flat buffer by the reduction of all ranks'."""
        ...

    def silent_ranks(self) -> tuple[int, ...]:
        """Ranks that do not answer."""
        ...

    def watch(self) -> Watch:
        """A watch over the ranks of this machine."""
        ...

    def check_others(self, watch: Watch, what: str) -> None:
        """Raise DistributedError where a rank is stopped."""
        ...

    def give_up(self, what: str) -> None:
        """The process ends in the midst of a call."""
        ...


class Pending(Generic[R]):
    """A collective call that was begun.

    Args:
        run: makes the call.
        what: the subject of a message: "an allreduce of 8 bytes".
        comm: has `timeout` and `silent_ranks`.
    Attributes:
        started, ended: readings of `time.monotonic`, 0 before.
    """

    def __init__(self, run: Callable[[], R], what: str, comm: Reduces) -> None:
        self.run, self.what, self._comm = run, what, comm
        self.started = self.ended = 0.0
        self._given_up: DistributedError | None = None
        self.error: BaseException | None = None
        self.result: R | None = None
        self._done = threading.Event()

    @property
    def is_given_up(self) -> bool:
        """True once who waited for it has raised an error."""
        return self._given_up is not None

    @property
    def is_done(self) -> bool:
        """True once the result is there, or the call has failed."""
        return self._done.is_set()

    def finish(self, error: BaseException | None = None) -> None:
        """Called by the thread at the end."""
        self.error, self.ended = error, monotonic()
        self._done.set()

    def wait(self, longest: float | None = None) -> R:
        """The result, once it is there.

        Args:
            longest: seconds, the communicator's `timeout` unless given.
        Raises:
            DistributedError: it takes longer than the communicator's `timeout`, or a rank of this
                machine is stopped.
            Exception: what the call raised.
        """
        self._await(monotonic() + (self._comm.timeout if longest is None else longest))
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]

    def _await(self, end: float) -> None:
        if self._given_up is not None and not self.is_done:  # a second wait would take as long
            raise self._given_up
        watch = self._comm.watch()
        try:
            while not self._done.wait(min(PERIOD, max(0.0, end - monotonic()))):
                if monotonic() >= end:
                    raise self._late()
                self._comm.check_others(watch, self.what)
        except DistributedError as error:
            self._given_up = error
            raise

    def _late(self) -> DistributedError:
        silent = self._comm.silent_ranks()
        verb = "does" if len(silent) == 1 else "do"
        return DistributedError(
            f"{self.what} has not ended within {self._comm.timeout:g} s",
            silent,
            code="ranks",
            notes=[f"{named(silent)} {verb} not answer"] if silent else (),
            help="another rank hangs or does not make this call; a longer time is dist.init(timeout=...)",
        )


class CommunicationThread:
    """Makes calls in the order in which they were submitted, one at a time.

    All ranks must submit buffers of the same sizes in the same order. A buffer must not be read or
    written before `wait` of its reduction has returned. Collectives of the communicator wait for
    the thread first.

    Args:
        comm: has `reduce_into`, `timeout` and `silent_ranks`.
    """

    def __init__(self, comm: Reduces) -> None:
        self._comm, self._work = comm, deque[Pending[Any]]()
        self._changed = threading.Condition()
        self._failed: BaseException | None = None
        self._last: Pending[Any] | None = None
        self._thread: threading.Thread | None = None

    def submit(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> Pending[np.ndarray]:
        """Begin a reduction of a flat, contiguous buffer in place.

        Raises:
            Exception: an earlier call failed with it.
        """
        if buffer.ndim != 1 or not buffer.flags.c_contiguous or not buffer.flags.writeable:
            raise AssertionError("a buffer to be reduced is flat, contiguous and writable")

        def reduce() -> np.ndarray:
            self._comm.reduce_into(buffer, op, reduction)
            return buffer

        return self.call(reduce, f"an allreduce of {buffer.nbytes} bytes")

    def call(self, run: Callable[[], R], what: str) -> Pending[R]:
        """Begin a collective call.

        Args:
            what: the subject of a message, such as "a broadcast".
        Raises:
            Exception: an earlier call failed with it.
        """
        pending = Pending(run, what, self._comm)
        with self._changed:
            if self._failed is not None:
                raise self._failed
            if self._thread is None:
                # In a context of its own: a free-threaded Python would take that of the first call.
                self._thread = threading.Thread(
                    target=Context().run, args=(self._run,), name="texpr-communication", daemon=True
                )
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
            Exception: what a call raised.
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
                pending.result = pending.run()
            except BaseException as error:
                self._failed = error
                pending.finish(error)
            else:
                pending.finish()

    def _end(self) -> None:
        """MPI must not end in the midst of a call: it would crash."""
        last = self._last
        if last is not None and not last._done.wait(0 if last.is_given_up else _AT_EXIT):
            self._comm.give_up(last.what)
