"""Work that needs no Python, such as LLVM's, done on another core while this thread goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
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
