"""The exchange of headers by messages: ranks are threads, whose messages lie in boxes."""

from __future__ import annotations

from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2
from time import sleep
from types import SimpleNamespace

import pytest

from texpr import distributed as dist
from texpr.distributed import header_rounds, mpi_communicator
from texpr.distributed.rank_checks import header_of


class Status:
    """Of a message that has come."""

    def Get_source(self):
        return self.source

    def Get_count(self, _):
        return self.count


class Request:
    """Of a message: done once a function gives true."""

    def __init__(self, is_done):
        self.Test = is_done


class Boxes:
    """What mpi4py's communicator does with messages, of one rank.

    Attributes:
        sent: the number of messages that this rank has sent, by tag.
    """

    def __init__(self, world, rank, size):
        self._world, self._rank, self._size, self.sent = world, rank, size, defaultdict(int)
        self.Get_rank, self.Get_size = lambda: rank, lambda: size

    def Isend(self, message, dest, tag):
        self.sent[tag] += 1
        self._world[self._rank, dest, tag].append(bytes(message[0]))
        return Request(lambda: True)

    def Irecv(self, message, source, tag):
        box, state = self._world[source, self._rank, tag], []

        def is_done():
            if not state and box:
                state.append(True)
                message[0][:] = box.popleft()
            return bool(state)

        return Request(is_done)

    def Iprobe(self, source, tag, status):
        for rank in range(self._size):
            if self._world[rank, self._rank, tag]:
                status.source, status.count = rank, len(self._world[rank, self._rank, tag][0])
                return True
        return False

    def Recv(self, message, source, tag):
        message[0][:] = self._world[source, self._rank, tag].popleft()


MPI = SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=Status, Is_finalized=lambda: False)


def run(size, function):
    """What a function gives of the communicator of each rank; errors are results too."""
    world = {}
    for key in ((a, b, tag) for a in range(size) for b in range(size) for tag in range(1, 5)):
        world[key] = deque()

    def one(rank):
        comm = dist.MPICommunicator.__new__(dist.MPICommunicator)
        dist.Communicator.__init__(comm, timeout=10)
        comm.rank, comm.size, comm._mpi, comm._unanswered = rank, size, MPI, []
        comm._control = header_rounds.ControlMessages(MPI, Boxes(world, rank, size))
        try:
            return function(comm)
        except Exception as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


@pytest.mark.parametrize("size", range(2, 10))
def test_all_headers_come_in_as_many_rounds_as_there_are_digits(size):
    """In turns that ranks begin at different moments."""

    def call(comm):
        found = []
        for turn in range(3):
            sleep(0.002 * ((comm.rank * 7 + turn) % 5))
            found.append(comm.exchange_headers(header_of("x", 10 * turn + comm.rank), "x", 10))
        return found, comm._control._comm.sent[header_rounds.HEADERS]

    expected = [[header_of("x", 10 * turn + rank) for rank in range(size)] for turn in range(3)]
    assert run(size, call) == [(expected, 3 * ceil(log2(size)))] * size


@pytest.fixture
def soon(monkeypatch):
    """Ranks lose their patience soon."""
    monkeypatch.setattr(mpi_communicator, "_LEAST", 0.5)
    monkeypatch.setattr(mpi_communicator, "_LATE", 0.01)
    monkeypatch.setattr(mpi_communicator, "_LAST_WORDS", 0.05)


@pytest.mark.parametrize("size, absent", [(2, (1,)), (5, (1, 3)), (6, (0,)), (8, (1, 2, 3, 4, 5, 6, 7))])
def test_ranks_that_are_missing_are_named(soon, size, absent):
    """And no others, whose headers come by way of those."""

    def call(comm):
        return None if comm.rank in absent else comm.barrier(timeout=0.1)

    for rank, found in enumerate(run(size, call)):
        if rank not in absent:
            assert isinstance(found, dist.DistributedError) and found.ranks == absent
            assert "did not come within 0.1 s" in str(found)


def test_a_rank_that_waits_for_longer_answers(soon):
    def call(comm):
        if comm.rank != 2:
            comm.barrier(timeout=0.1 if comm.rank == 0 else 1.0)

    found = run(4, call)
    assert [getattr(each, "ranks", None) for each in found] == [(2,), (0, 2), None, (2,)]  # 3 has heard 0


def test_who_comes_while_the_others_ask_is_not_missing(soon):
    def call(comm):
        sleep(0.2 if comm.rank == 1 else 0)
        comm.barrier(timeout=0.1)
        return "here"

    assert run(3, call) == ["here"] * 3


def test_who_has_ended_is_named(soon):
    def call(comm):
        comm.barrier()
        if comm.rank == 1:
            return comm._leave()
        comm.barrier()

    found = run(3, call)
    for rank in (0, 2):
        assert str(found[rank]).startswith("error[ranks]: barrier: the program of rank 1 has ended\n")
        assert found[rank].ranks == (1,)


def test_who_ends_after_an_exchange_is_not_missing_in_it(soon):
    """Its farewell comes before the others have all headers, which others hand on."""

    def call(comm):
        done = comm._control._comm
        if comm.rank == 1:
            begin = done.Isend

            def slow(message, dest, tag):
                sleep(0.1 if tag == header_rounds.HEADERS else 0)
                return begin(message, dest, tag)

            done.Isend = slow
        comm.barrier()
        comm._leave()
        return "over"

    assert run(4, call) == ["over"] * 4


def test_headers_of_who_waits_are_taken_by_who_ends(soon):
    def call(comm):
        if comm.rank == 1:
            sleep(0.1)  # the header of the other is here
            comm._leave()
            return comm._control._comm.Iprobe(0, header_rounds.HEADERS, Status())
        comm.barrier()

    error, is_left = run(2, call)
    assert error.ranks == (1,) and not is_left
