"""Objects as bytes, and errors that say whose object it was."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from texpr.distributed.rank_checks import DistributedError, named

FAILED = -1
"""In the place of a length: the object cannot be pickled."""
_WAY_OUT = (
    "give data: arrays, numbers, text, lists and dicts of them; no open files, locks or local functions"
)


def pickled(o: Any) -> tuple[bytes, str]:
    """The bytes of an object, or none and the reason. The other ranks must hear of it, so nothing
    is raised here.
    """
    try:
        return pickle.dumps(o), ""
    except Exception as error:  # `__reduce__` may raise anything
        return b"", f": {type(error).__name__}: {error}"


def length_of(data: bytes, reason: str) -> int:
    """The number that ranks tell each other before the bytes."""
    return FAILED if reason else len(data)


def check_pickled(what: str, lengths: Sequence[int], reason: str) -> None:
    """Raise DistributedError on all ranks where one object cannot be pickled.

    Args:
        lengths: of all ranks.
        reason: of this rank; empty where its object is well.
    """
    wrong = [rank for rank, length in enumerate(lengths) if length == FAILED]
    if wrong:
        objects = "the object" if len(wrong) == 1 else "the objects"
        raise DistributedError(
            f"{what}: {objects} of {named(wrong)} cannot be pickled{reason}",
            wrong,
            code="ranks",
            help=_WAY_OUT,
        )


def unpickled(what: str, data: bytes, rank: int) -> Any:
    """The object of a rank.

    Raises:
        DistributedError: it cannot be made here.
    """
    try:
        return pickle.loads(data)
    except Exception as error:  # whatever the object's class raises
        raise DistributedError(
            f"{what}: the object of rank {rank} cannot be unpickled here: {type(error).__name__}: {error}",
            [rank],
            code="ranks",
            help="let all ranks have the same program and the same modules",
        ) from None
