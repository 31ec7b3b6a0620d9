"""Guard against Ctrl-C for work that must not be left half done."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

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
    wait for ever.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C before, and nothing of the block was run; or
            meanwhile, and all of it was.
    """

    __slots__ = ()

    @property
    def __enter__(self) -> Callable[[], None]:
        return _ends()[0]

    @property
    def __exit__(self) -> Callable[..., None]:
        return _ends()[1]


deferred_interrupts = _DeferredInterrupts()


@cache
def _ends() -> tuple[Callable[[], None], Callable[..., None]]:
    return (
        builtin("tx_defer_interrupts", NO_ARGUMENTS, "hold", "", b"", ()),
        builtin("tx_allow_interrupts", FASTCALL, "release", "", b"", ()),
    )
