"""Errors that are caught at once and shown to nobody: places and examples for them are not
looked for, which takes longer than the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNREAD: ContextVar[bool] = ContextVar("texpr_unread", default=False)


@contextmanager
def unread() -> Iterator[None]:
    """A block whose errors are shown to nobody."""
    token = _UNREAD.set(True)
    try:
        yield
    finally:
        _UNREAD.reset(token)


def is_unread() -> bool:
    """True if errors are shown to nobody here."""
    return _UNREAD.get()
