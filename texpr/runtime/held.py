"""What Ctrl-C must not leave half done."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from texpr.runtime.call import NO_ARGUMENTS, builtin


class _Held:
    """`with held:` lets Ctrl-C wait until the block is left, at its end or by an exception; kernels in it are not interrupted.

    One that came before is raised where the block would begin. Blocks may stand in each other, and in several threads at once: Ctrl-C
    waits for all of them. A handler that is installed while the block runs is called at once.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C before, and nothing of the block was run; or meanwhile, and all of it was.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        _ends()[0]()

    def __exit__(self, *_: object) -> None:
        _ends()[1]()


held = _Held()


@cache
def _ends() -> tuple[Callable[[], object], Callable[[], object]]:
    return builtin("tx_hold", NO_ARGUMENTS, "hold", "", b"", ()), builtin("tx_release", NO_ARGUMENTS, "release", "", b"", ())
