"""Python's collector of reference cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 50_000
"""So many new objects take longer to look through than it takes to ask what is frozen, which is
looked through for that.
"""


@contextmanager
def uncollected() -> Iterator[None]:
    """Cycles are not looked for meanwhile. What compiles makes millions of nodes that stay, and
    looking through all of them again and again takes a tenth of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    before = gc.get_count()[0]
    try:
        yield
    finally:
        if gc.get_count()[0] - before > MANY and not gc.get_freeze_count():
            # To the oldest generation as they are: as the youngest ones, all of them would be
            # looked through next.
            gc.freeze()
            gc.unfreeze()
        gc.enable()
