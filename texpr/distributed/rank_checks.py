"""Checks that all ranks do the same: short headers before the data of a collective, texts before a
training.

A collective that only some ranks call, or that they call with other shapes, hangs or corrupts
memory in MPI. So each public collective exchanges a header first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from os.path import commonprefix

from texpr.support.errors import Error

HEADER = 256
"""Bytes of a header: a digest of the whole text, a number of the rank's own, the text's beginning."""
_FRONT = struct.Struct("<16sqB")
_WORDS = HEADER - _FRONT.size
_SHOWN = 4
"""Groups of ranks that a message lists."""


class DistributedError(Error):
    """Ranks that do not do the same, that are missing, or a communicator that cannot be used.

    Attributes:
        ranks: that are missing, or differ from rank 0; empty where it is none of them.
    Example:
        >>> from texpr.distributed import DistributedError
        >>> from texpr.distributed.mpiexec import find_mpiexec
        >>> try:
        ...     find_mpiexec("no_mpiexec")
        ... except DistributedError as error:
        ...     print(error.code, error.message)
        launch there is no no_mpiexec
    """

    def __init__(self, message: str, ranks: Sequence[int] = (), **rest) -> None:
        super().__init__(message, **rest)
        self.ranks = tuple(ranks)


def header_of(text: str, number: int = 0) -> bytes:
    """The header of a call."""
    words = text.encode(errors="backslashreplace")
    part = words[:_WORDS].decode(errors="ignore").encode()
    return (_FRONT.pack(digest(text), number, len(part)) + part).ljust(HEADER, b"\0")


def agreed(headers: Sequence[bytes]) -> list[int]:
    """The number of each rank's header, once all texts are the same.

    Raises:
        DistributedError: they differ.
    """
    fronts = [_FRONT.unpack_from(h) for h in headers]
    if len({front[0] for front in fronts}) == 1:
        return [front[1] for front in fronts]
    texts = [h[_FRONT.size : _FRONT.size + front[2]].decode() for h, front in zip(headers, fronts)]
    raise DistributedError(
        "the ranks do not call the same collective",
        [k for k, front in enumerate(fronts) if front[0] != fronts[0][0]],
        code="ranks",
        notes=_groups(texts),
        help="let every rank make the same calls in the same order, with arrays of one shape and dtype",
    )


def _groups(texts: Sequence[str]) -> list[str]:
    """Lines that say which ranks have which text."""
    found: dict[str, list[int]] = {}
    for rank, text in enumerate(texts):
        found.setdefault(text, []).append(rank)
    lines = [f"{named(ranks)}: {text}" for text, ranks in found.items()]
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"and {more} more"]


def missing(what: str, ranks: Sequence[int], seconds: float) -> DistributedError:
    """The error of ranks that did not come."""
    return DistributedError(
        f"{what}: {named(ranks)} did not come within {seconds:g} s",
        ranks,
        code="ranks",
        help="see what these ranks say: they failed, hang, or do not make this call; a longer time is "
        "dist.init(timeout=...)",
    )


def ended(what: str, ranks: Sequence[int]) -> DistributedError:
    """The error of ranks whose program has ended."""
    return DistributedError(
        f"{what}: the program of {named(ranks)} has ended",
        ranks,
        code="ranks",
        help="let all ranks make equally many calls: they have batches of another number, or one left early",
    )


def left_early(what: str, before: str) -> DistributedError:
    """The error of a rank that has left a call before the others were there."""
    return DistributedError(
        f"{what}: this rank has left the call of {before} before, by an error or Ctrl-C, and the ranks are no "
        "longer in step",
        code="ranks",
        help="end the program; `launch --restarts 3` goes on from the last checkpoint",
    )


def stopped(what: str, ranks: Mapping[int, object]) -> DistributedError:
    """The error of ranks that a signal has stopped.

    Args:
        ranks: what their processes are.
    """
    return DistributedError(
        f"{what}: {named(list(ranks))} {'is' if len(ranks) == 1 else 'are'} stopped",
        list(ranks),
        code="ranks",
        notes=[f"rank {rank} is {process}" for rank, process in list(ranks.items())[:_SHOWN]],
        help="a signal has stopped it (SIGSTOP, SIGTSTP), and the others do not wait for it: to hold a "
        "program, stop all its ranks; a rank that a debugger holds is waited for",
    )


def named(ranks: Sequence[int]) -> str:
    """`rank 1`, `ranks 1 and 3`, `ranks 0 to 5`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def digest(text: str) -> bytes:
    """16 bytes that tell texts apart."""
    return blake2b(text.encode(errors="backslashreplace"), digest_size=16).digest()


def first_difference(text: str, other: str) -> str:
    """The first line of two texts that differs, with its number; empty where there is none."""
    lines, others = text.splitlines(), other.splitlines()
    for number, (line, another) in enumerate(zip(lines, others), 1):
        if line != another:
            same = len(commonprefix((line, another)))
            return f"line {number} is `{_cut(line, same)}`, that of rank 0 `{_cut(another, same)}`"
    if len(lines) == len(others):
        return ""
    longer, where = (lines, "rank 0 ends there") if len(lines) > len(others) else (others, "which rank 0 has")
    number = min(len(lines), len(others))
    verb = "is" if longer is lines else "is missing:"
    return f"line {number + 1} {verb} `{_cut(longer[number])}`, {where}"


def _cut(line: str, at: int = 0, most: int = 160) -> str:
    """A part of a line around a place."""
    start = max(0, at - most // 2) if at > most // 2 and len(line) > most else 0
    part = line[start : start + most]
    return ("..." if start else "") + part + ("..." if start + most < len(line) else "")


def compared(what: str, same: bool, differences: Callable[[], Sequence[str]]) -> None:
    """Raise DistributedError for the ranks that differ from rank 0.

    Args:
        differences: of each rank, empty for one that is like rank 0; asked for where `same` is
            false.
    """
    if same:
        return
    found = differences()
    wrong = [rank for rank, text in enumerate(found) if text]
    raise DistributedError(
        f"{named(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from rank 0 in {what}",
        wrong,
        code="ranks",
        notes=[f"rank {rank}: {found[rank]}" for rank in wrong[:_SHOWN]],
        help="give all ranks the same model, arrays, options and versions; a loader with shard=comm shares "
        "out the data",
    )
