"""The exchange of headers by messages, in as many rounds as the size of the world has binary digits.

J. Bruck et al., "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing
Systems", IEEE Transactions on Parallel and Distributed Systems 8(11), 1997, section 4: in the round
of distance d = 1, 2, 4, ... each rank has the headers of the d ranks from itself on. It sends them
to the rank that is d before it, and takes as many of the one that is d after it.

Libraries of MPI have the same as `MPI_Iallgather`. Here the ranks that have been heard are known, so
that those which are missing can be named.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from time import monotonic, sleep
from typing import Any

_TURN, _NAP = struct.Struct("<q"), 1e-3
HEADERS, ASKING, ANSWER, FAREWELL = 1, 2, 3, 4
"""Tags of messages: headers; a rank that waits asks who is there; one that waits too answers; the end of
a program.
"""


class HeaderExchange:
    """One exchange of a rank, which goes on when it is asked whether it is done.

    The messages that are under way write into memory of this object: it must live as long as they do.

    Args:
        control: the communicator of mpi4py.
        byte: `MPI.BYTE`.
        rank, size: of this process, and of the world.
        header: of this rank; all have the same length.
    """

    def __init__(self, control: Any, byte: Any, rank: int, size: int, header: bytes) -> None:
        self._control, self._byte, self._rank, self._size = control, byte, rank, size
        self._width = len(header)
        # The header of rank `rank + k`, counted round, is at place k.
        self._memory = memoryview(bytearray(size * self._width))
        self._memory[: self._width] = header
        self._known = 1
        self._receive: Any = None
        self._sends: list[Any] = []
        self._begin()

    def _begin(self) -> None:
        """The next round."""
        there = self._known
        count = min(there, self._size - there) * self._width
        at = there * self._width
        after, before = ((self._rank + step) % self._size for step in (there, -there))
        self._receive = self._control.Irecv(
            [self._memory[at : at + count], self._byte], source=after, tag=HEADERS
        )
        self._sends.append(self._control.Isend([self._memory[:count], self._byte], dest=before, tag=HEADERS))

    def is_done(self) -> bool:
        """True once all headers are here and all messages are sent."""
        while self._receive is not None and self._receive.Test():
            self._known, self._receive = min(2 * self._known, self._size), None
            if self._known < self._size:
                self._begin()
        self._sends = [s for s in self._sends if not s.Test()]
        return self._receive is None and not self._sends

    @property
    def unheard(self) -> list[int]:
        """Ranks whose headers are not here."""
        return sorted((self._rank + k) % self._size for k in range(self._known, self._size))

    @property
    def headers(self) -> list[bytes]:
        """The headers of all ranks in their order."""
        places = ((rank - self._rank) % self._size * self._width for rank in range(self._size))
        return [bytes(self._memory[at : at + self._width]) for at in places]


class ControlMessages:
    """Messages between ranks beside collectives: who waits in which exchange, and who has ended.

    Args:
        MPI: the module of mpi4py.
        comm: a communicator of it.
    Attributes:
        turn: the number of the exchange that this rank is in, or was in last.
        ended: ranks whose program has ended, and the number of their last exchange.
    """

    def __init__(self, MPI: Any, comm: Any) -> None:
        self._mpi, self._comm = MPI, comm
        self.turn = 0
        self.ended: dict[int, int] = {}
        self._there: dict[int, int] = {}
        self._sends: list[tuple[Any, bytearray]] = []

    def exchange(self, header: bytes) -> HeaderExchange:
        """Begin the next exchange."""
        self.turn += 1
        comm = self._comm
        return HeaderExchange(comm, self._mpi.BYTE, comm.Get_rank(), comm.Get_size(), header)

    def say(self, tag: int, ranks: Iterable[int]) -> None:
        """Send the number of this rank's exchange."""
        for rank in ranks:
            memory = bytearray(_TURN.pack(self.turn))
            self._sends.append((self._comm.Isend([memory, self._mpi.BYTE], dest=rank, tag=tag), memory))

    @property
    def is_sent(self) -> bool:
        """True once others have all that was said."""
        self._sends = [each for each in self._sends if not each[0].Test()]
        return not self._sends

    def take(self) -> None:
        """Take the messages that have come, but no headers; who asks is answered."""
        for tag in (FAREWELL, ASKING, ANSWER):
            for rank, memory in self._come(tag):
                (turn,) = _TURN.unpack(memory)
                if tag == FAREWELL:
                    self.ended[rank] = turn
                elif tag == ASKING:
                    self.say(ANSWER, [rank])
                else:
                    self._there[rank] = turn

    def take_headers(self) -> None:
        """Take headers that nobody waits for."""
        for _ in self._come(HEADERS):
            pass

    def _come(self, tag: int) -> Iterator[tuple[int, bytearray]]:
        MPI, status = self._mpi, self._mpi.Status()
        while self._comm.Iprobe(source=MPI.ANY_SOURCE, tag=tag, status=status):
            memory = bytearray(status.Get_count(MPI.BYTE))
            self._comm.Recv([memory, MPI.BYTE], source=status.Get_source(), tag=tag)
            yield status.Get_source(), memory

    def left_before(self) -> list[int]:
        """Ranks that have ended without this exchange."""
        return sorted(rank for rank, turn in self.ended.items() if turn < self.turn)

    def not_there(self, exchange: HeaderExchange, seconds: float) -> list[int]:
        """Ranks that have not been heard, and do not answer that they wait in this exchange too."""
        self._there.clear()
        self.say(ASKING, exchange.unheard)
        end = monotonic() + seconds
        while monotonic() < end and not exchange.is_done():
            self.take()
            if not self._silent(exchange):
                break
            sleep(_NAP)
        return [] if exchange.is_done() else self._silent(exchange)

    def _silent(self, exchange: HeaderExchange) -> list[int]:
        return [rank for rank in exchange.unheard if self._there.get(rank, 0) < self.turn]
