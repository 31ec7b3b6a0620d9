"""Work that needs no Python, such as LLVM's, done on another core while this thread goes on."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Generic, TypeVar

from texpr.support.options import current

V = TypeVar("V")


class Meanwhile(Generic[V]):
    """`with Meanwhile(function) as result:` begins the function on a thread of its own; `result()`
    waits for what it gives.

    Kept by hand: a pool of `concurrent.futures` has no daemon threads, and does not copy the
    context.

    It is worth it for a function that spends its time in native code without the GIL. Where the
    option `threads` is 1, the function runs here, when it is asked for. The block is not left
    before the function is over.

    Raises:
        Exception: `result()` raises what the function raised.
    """

    def __init__(self, function: Callable[[], V]) -> None:
        self._function, self._found, self._error = function, list[V](), None
        self._thread = (
            Thread(target=copy_context().run, args=(self._run,), daemon=True)
            if current().threads > 1
            else None
        )

    def __enter__(self) -> Meanwhile[V]:
        if self._thread is not None:
            try:
                self._thread.start()
            except RuntimeError:  # the system gives no more threads
                self._thread = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait()

    def __call__(self) -> V:
        self._wait()
        if not self._found and self._error is None:
            self._run()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def alone(self) -> V:
        """The result of the function, computed with nothing done beside it."""
        with self:
            return self()

    def _wait(self) -> None:
        """Wait for the thread, also where Ctrl-C comes: native code must not run while the
        process ends.
        """
        if self._thread is None:
            return
        try:
            self._thread.join()
        except BaseException:
            self._thread.join()
            raise

    def _run(self) -> None:
        try:
            self._found.append(self._function())
        except Exception as error:
            self._error = error


class Job(Generic[V]):
    """A job of a `Helper`."""

    def __init__(self, function: Callable[[], V]) -> None:
        self._function, self._found = function, list[V]()
        self._error: BaseException | None = None
        self._free, self._done = Lock(), Event()

    def run(self) -> None:
        """Do it, unless somebody else has begun it, or it was dropped."""
        if not self._free.acquire(blocking=False):
            return
        try:
            self._found.append(self._function())
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def result(self) -> V:
        """Result of the function; it is done here, if nobody has begun it.

        Raises:
            Exception: what the function raised.
        """
        self.run()
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def drop(self) -> None:
        """Let nobody begin it; where somebody has, wait until it is over."""
        if self._free.acquire(blocking=False):
            self._done.set()
        self._done.wait()


class Helper:
    """`with Helper() as helper:` has a thread that does small jobs, in order, while this one goes on.

    For jobs that wait for the system most of the time, which is why there is a thread whatever the
    option `threads` says. Nobody waits for the thread where no core is free for it: a job that it
    has not begun is done by whoever wants the result. No job goes on behind the block.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._begun: list[Job] = []

    def __enter__(self) -> Helper:
        # Not `Thread.start`, which waits for a core.
        with suppress(RuntimeError):  # the system gives no more threads
            start_new_thread(copy_context().run, (self._work,))
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.put(None)
        try:
            self._drop()
        except BaseException:  # also where Ctrl-C comes
            self._drop()
            raise

    def begin(self, function: Callable[[], V]) -> Job[V]:
        """A job for the thread."""
        job = Job(function)
        self._begun.append(job)
        self._jobs.put(job)
        return job

    def _drop(self) -> None:
        for job in self._begun:
            job.drop()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
