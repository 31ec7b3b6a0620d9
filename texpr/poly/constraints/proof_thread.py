"""One proof at a time, among all threads.

isl's objects count their references without atomic instructions, and so does the module that makes
them Python's. The converters of expressions tell unknowns apart by identity, and share them among
questions. So proofs hold a lock.

A lock does not say where an object goes that nobody refers to any more. With the GIL that is in
between two calls of isl, whoever drops it. Without it, CPython hands an object back to the thread
that made it (PEP 703), which drops it between two calls of its own. So all proofs run in one thread
there, and objects of isl begin and end in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from queue import SimpleQueue
from threading import Lock, RLock, Thread, get_ident
from typing import Any, ParamSpec, TypeVar

from texpr.support.forks import held_over_forks
from texpr.support.version import runs_without_gil

_LOCK = held_over_forks(RLock())

P = ParamSpec("P")
T = TypeVar("T")


class _Task:
    """A call that the thread of proofs makes, in the context of the one that waits for it."""

    __slots__ = ("_call", "_done", "_error", "_result")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call: Callable[[], Any] | None = call
        self._done = Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._done.acquire()

    def run(self) -> None:
        call, self._call = self._call, None
        assert call is not None, "a task runs once"
        try:
            self._result = call()
        except BaseException as error:  # raised where the result is wanted
            self._error = error
        del call  # with what it refers to, before others go on
        self._done.release()

    def result(self) -> Any:
        """The result, once it is there. Ctrl-C waits too: proofs share what it would leave half
        done.
        """
        try:
            self._done.acquire()
        except BaseException:
            self._done.acquire()
            raise
        error, result = self._error, self._result
        self._error = self._result = None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame
        return result


class _ProofThread:
    """The thread of all proofs, from the first one without the GIL on."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a forked child there is no such thread yet."""
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self.ident: int | None = None

    def run(self, call: Callable[[], T]) -> T:
        """Make a call there; with the lock."""
        if self.ident is None:
            thread = Thread(target=self._serve, name="texpr-proofs", daemon=True)
            thread.start()
            self.ident = thread.ident
        task = _Task(call)
        self._tasks.put(task)
        return task.result()

    def _serve(self) -> None:
        while True:
            self._tasks.get().run()


_thread = _ProofThread()
os.register_at_fork(after_in_child=_thread.forget)


def is_alone() -> bool:
    """True in a thread that may use isl."""
    if runs_without_gil():
        return get_ident() == _thread.ident
    return _LOCK._is_owned()  # type: ignore[attr-defined]


def alone(call: Callable[[], T]) -> T:
    """Make a call that uses isl, or what proofs share, while no other thread does."""
    if get_ident() == _thread.ident:
        return call()
    with _LOCK:
        if runs_without_gil():
            context = copy_context()
            return _thread.run(lambda: context.run(call))
        return call()


def one_at_a_time(function: Callable[P, T]) -> Callable[P, T]:
    """Let no two threads run functions that are marked so at once. A generator is marked nowhere:
    it would run later.
    """

    @wraps(function)
    def exclusive(*arguments: P.args, **named: P.kwargs) -> T:
        return alone(lambda: function(*arguments, **named))

    return exclusive
