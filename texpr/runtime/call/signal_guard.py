"""Guard against Ctrl-C for work that must not be left half done."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from operator import call

from texpr.runtime.call.fast_path import FASTCALL, NO_ARGUMENTS, builtin


class _DeferredInterrupts:
    """`with deferred_interrupts:` lets Ctrl-C wait until the block is left, at its end or by an
    exception.

    Kernels in it are not interrupted.

    One that came before is raised where the block would begin. Blocks may stand in each other, and
    in several threads at once: Ctrl-C waits for all of them. A handler that is installed while the
    block runs is called at once, and so are those of other signals; `_thread.interrupt_main()` does
    not wait either.

    Both ends are native code, not methods that call it: between it and the block Python could run
    the handler of another signal, whose exception would pass by the other end, and Ctrl-C would
    wait for ever. From Python 3.14 on see `_Held`.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C before, and nothing of the block was run; or
            meanwhile, and all of it was.
    """

    __slots__ = ()

    @property
    def __enter__(self) -> Callable[[], None]:
        return _ends()[0] if _SIGNALS_STAY_OUT else _pending().pop().begin()

    @property
    def __exit__(self) -> Callable[..., None]:
        if _SIGNALS_STAY_OUT:
            return _ends()[1]
        held = _Held()
        _pending().append(held)
        return held.end


_SIGNALS_STAY_OUT = sys.version_info < (3, 14)
"""True if no handler of signals runs between the native code that begins a block and the block. From
3.14 on the beginning is a call as any other, behind which handlers run.
"""


class _Held(list):
    """The end of a block from Python 3.14 on, which is looked up before its beginning.

    It lies on the stack of the frame. Where an exception passes between beginning and block, the
    frame drops it, and its element lets Ctrl-C go; a Ctrl-C that came meanwhile is lost then.
    """

    __slots__ = ()

    def begin(self) -> Callable[[], None]:
        """Native code that defers Ctrl-C and adds the element; handlers cannot run in between."""
        return partial(self.extend, map(call, (_ends()[0], _armed())))

    def end(self, *exception: object) -> None:
        """Let Ctrl-C go, and raise it if it came. No handler runs between the last two lines: only
        behind calls do they.
        """
        release = _ends()[1]
        self[-1].__class__ = _Disarmed
        release()


class _Disarmed:
    """An element that does nothing."""

    __slots__ = ()


@cache
def _armed() -> type:
    """A class whose objects let Ctrl-C go when they are dropped, by native code alone."""
    return type("_Armed", (), {"__slots__": (), "__del__": _ends()[1]})


_local = threading.local()


def _pending() -> list[_Held]:
    """Ends of this thread whose beginnings are looked up next. More than one: a handler of a signal
    has a block of its own.
    """
    return _local.__dict__.setdefault("pending", [])


deferred_interrupts = _DeferredInterrupts()


@cache
def _ends() -> tuple[Callable[[], None], Callable[..., None]]:
    return (
        builtin("tx_defer_interrupts", NO_ARGUMENTS, "hold", "", b"", ()),
        builtin("tx_allow_interrupts", FASTCALL, "release", "", b"", ()),
    )
