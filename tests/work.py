"""Work of a computation, in a unit that other processes do not change."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MANY = 20_000_000
"""Calls: some ten seconds. isl's operations have a quota of their own."""


@contextmanager
def at_most(calls: int = MANY) -> Iterator[None]:
    """The body calls at most so many functions written in Python, in this thread; an exception
    of its own goes on.
    """
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"
        if count > calls:
            sys.setprofile(before)
            raise AssertionError(f"more than {calls:,} calls")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
