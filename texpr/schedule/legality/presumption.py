"""Steps that are taken without proofs that they keep dependences: those of a default schedule whose
finished loops are certified before they run.

The certificate proves all of the result, and looks at no step. Where it fails, the schedule is made
again with proofs (`compiler.kernels.certified`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from texpr.poly import Conflict

_PRESUMED: ContextVar[bool] = ContextVar("texpr_presumed", default=False)


@contextmanager
def presumed(legal: bool = True) -> Iterator[None]:
    """A block in which dependences are taken to be kept, or, without `legal`, are proven again."""
    token = _PRESUMED.set(legal)
    try:
        yield
    finally:
        _PRESUMED.reset(token)


def conflict_of(find: Callable[[], Conflict | None]) -> Conflict | None:
    """The dependence that a step would not keep, as `find` tells; None where it is presumed that
    there is none.
    """
    return None if _PRESUMED.get() else find()


def is_presumed() -> bool:
    """True where dependences are taken to be kept."""
    return _PRESUMED.get()
