"""A step of data-parallel training on paper: when each reduction begins is known from a trace of one
rank, and what it takes from a model of the network.

The costs of an allreduce are those of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
Collective Communication Operations in MPICH", Int. J. High Performance Computing Applications 19(1),
2005, section 4.5, for p ranks and n bytes, with a latency a, b seconds per byte sent and c seconds
per byte added; s is log2 p, rounded up:

    recursive doubling     s a + s n b + s n c
    ring                   2 (p-1) a + 2 (p-1)/p n b + (p-1)/p n c
    halving and doubling   2 s a + 2 (p-1)/p n b + (p-1)/p n c

The last one is Rabenseifner's: a reduce-scatter by recursive halving, an allgather by recursive
doubling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, inf, log2

from texpr.distributed.rank_checks import HEADER
from texpr.support.frozen_dataclass import frozen

_OPENING = 24
"""Bytes of a rank in the allgather that opens a round: three integers."""


@frozen
class Link:
    """A network as a model: each rank sends and receives one message at a time.

    Attributes:
        latency: seconds of a message, however short.
        bandwidth: bytes per second of a rank.
        adding: bytes per second that a rank adds up.
    """

    latency: float
    bandwidth: float
    adding: float = inf


@frozen
class Message:
    """A buffer that is reduced over all ranks in a step.

    Attributes:
        name: that of the plan's listing.
        size: bytes, whatever the number of ranks.
        per_rank: further bytes for each rank.
    """

    name: str
    size: int
    per_rank: int = 0

    def bytes_of(self, ranks: int) -> int:
        """The size in a world of so many ranks."""
        return self.size + self.per_rank * ranks


@frozen
class Moment:
    """A reduction begins, or is waited for.

    Attributes:
        message: its number.
        waits: it is waited for.
        seconds: that one rank computes between the moment before and this one.
    """

    message: int
    waits: bool
    seconds: float


@frozen
class Trace:
    """A step of one rank.

    Attributes:
        messages: in the order in which they begin.
        moments: in order.
        rest: seconds of computation after the last moment.
    """

    messages: tuple[Message, ...]
    moments: tuple[Moment, ...]
    rest: float

    @property
    def seconds(self) -> float:
        """The step of one rank, which waits for nobody."""
        return sum(m.seconds for m in self.moments) + self.rest


Cost = Callable[[int], float]
"""Seconds of an allreduce of so many bytes."""


def doubling(ranks: int, size: int, link: Link) -> float:
    """Seconds of an allreduce by recursive doubling."""
    return _steps(ranks) * (link.latency + size / link.bandwidth + size / link.adding)


def ring(ranks: int, size: int, link: Link) -> float:
    """Seconds of an allreduce by a ring."""
    return 2 * (ranks - 1) * link.latency + _sent_once(ranks, size, link)


def halving(ranks: int, size: int, link: Link) -> float:
    """Seconds of an allreduce by recursive halving and doubling."""
    return 2 * _steps(ranks) * link.latency + _sent_once(ranks, size, link)


ALGORITHMS = {"doubling": doubling, "ring": ring, "halving": halving}


def allreduce_seconds(ranks: int, size: int, link: Link, algorithm: str = "best") -> float:
    """Seconds of an allreduce by one of `ALGORITHMS`, or by the best of them, which MPI libraries
    choose by size.
    """
    if ranks == 1 or not size:
        return 0.0
    used = ALGORITHMS.values() if algorithm == "best" else [ALGORITHMS[algorithm]]
    return min(each(ranks, size, link) for each in used)


def opening_seconds(ranks: int, link: Link) -> float:
    """Seconds until the ranks know each other's batches: an allgather of headers, and one of three
    integers, in rounds of double size.
    """
    if ranks == 1:
        return 0.0
    return 2 * _steps(ranks) * link.latency + (ranks - 1) * (HEADER + _OPENING) / link.bandwidth


@frozen
class Reduced:
    """Times at which a message is ready to be reduced and its reduction begins and ends, in seconds."""

    message: Message
    ready: float
    begin: float
    end: float


def simulate(
    trace: Trace, cost: Cost, ranks: int, *, opening: float = 0.0, overlaps: bool = True
) -> tuple[float, list[Reduced]]:
    """Seconds of a step on several ranks with equal batches, and its reductions.

    Args:
        cost: of an allreduce on these ranks.
        opening: seconds before the step.
        overlaps: reductions go on beside kernels, one after the other. Else a rank has one core,
            which does either.
    """
    now, free, reduced = opening, 0.0, dict[int, Reduced]()
    for moment in trace.moments:
        now += moment.seconds
        message = trace.messages[moment.message]
        if moment.waits:
            now = max(now, reduced[moment.message].end)
            continue
        begin = max(now, free)
        free = begin + cost(message.bytes_of(ranks))
        reduced[moment.message] = Reduced(message, now, begin, free)
        if not overlaps:
            now = free
    return now + trace.rest, list(reduced.values())


def predicted(
    trace: Trace, ranks: int, link: Link, algorithm: str = "best"
) -> tuple[float, Sequence[Reduced]]:
    """Efficiency on a network, the share of `ranks` times one rank's rate; and the reductions."""
    seconds, reduced = simulate(
        trace,
        lambda size: allreduce_seconds(ranks, size, link, algorithm),
        ranks,
        opening=opening_seconds(ranks, link),
    )
    return trace.seconds / seconds, reduced


def _steps(ranks: int) -> int:
    return ceil(log2(ranks))


def _sent_once(ranks: int, size: int, link: Link) -> float:
    """Each rank sends and receives nearly everything twice, and adds it once."""
    return (ranks - 1) / ranks * size * (2 / link.bandwidth + 1 / link.adding)
