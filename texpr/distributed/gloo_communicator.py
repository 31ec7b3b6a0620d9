"""The communicator of people who have torch.distributed: its gloo, which moves arrays by TCP."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any

import numpy as np

from texpr.distributed.communication_thread import CommunicationThread
from texpr.distributed.communicator import Communicator
from texpr.distributed.flat_arrays import in_order
from texpr.distributed.rank_checks import DistributedError, missing
from texpr.support.extras import needs

_GRACE = 0.1
"""Seconds for each further rank, once one has not come: those that are there have sent long ago."""
_MORE = 60.0
"""Seconds after which an exchange that did not end by its own timeout is given up."""
_REDUCED = {np.dtype(name) for name in ("f4", "f8", "i1", "u1", "i4", "i8")}
"""The dtypes that gloo reduces; others are gathered, and reduced by each rank."""
_OPS = {"sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX"}


class GlooCommunicator(Communicator):
    """The ranks of a process group of torch.distributed, by gloo on the CPU.

    It makes groups of its own of the same ranks, so that its messages do not meet others, whatever
    the backend of the group is. All ranks of the group must make the communicator.

    Args:
        group: of torch.distributed; the whole world unless given. A program that has not called
            `torch.distributed.init_process_group` is initialized by the variables that `torchrun`
            sets.
        timeout: seconds that a call waits for ranks that do not come.
    Raises:
        MissingExtra: torch is not installed.
        DistributedError: torch.distributed is not there, nobody has started several ranks, or this
            process is not in the group.
        CallError: `timeout` is no number above 0.
    Example:
        >>> from texpr import distributed as dist
        >>> try:
        ...     comm = dist.GlooCommunicator()
        ... except (tx.MissingExtra, dist.DistributedError):
        ...     comm = dist.Communicator()
        >>> comm.rank < comm.size
        True
    """

    def __init__(self, group: Any = None, timeout: float = 1800.0) -> None:
        super().__init__(timeout)
        self._torch, self._td = _library()
        world = self._td.group.WORLD if group is None else group
        if self._td.get_rank(world) < 0:
            raise DistributedError(
                "this process is not in the group of torch.distributed",
                code="ranks",
                help="make the communicator on the ranks of its group alone",
            )
        self.rank, self.size = self._td.get_rank(world), self._td.get_world_size(world)
        self._ranks = self._td.get_process_group_ranks(world)
        self._data, self._control = (
            self._td.new_group(
                self._ranks,
                timedelta(seconds=self.timeout),
                backend="gloo",
                use_local_synchronization=True,
                group_desc=f"texpr {what}",
            )
            for what in ("data", "headers")
        )
        # gloo has no call that looks whether a message has come, and one that ends early breaks the group.
        self._headers = CommunicationThread(self)
        machines = [process.host for process in self._meet()]
        beside = [rank for rank, machine in enumerate(machines) if machine == machines[self.rank]]
        self.local_rank, self.local_size = beside.index(self.rank), len(beside)

    def exchange_headers(self, header: bytes, what: str, timeout: float) -> list[bytes]:
        others = [k for k in range(self.size) if k != self.rank]
        found = {k: np.empty(len(header), np.uint8) for k in others}
        mine = self._tensor(np.frombuffer(header, np.uint8).copy())
        end, late = monotonic() + timeout, list[int]()

        def exchange() -> None:
            td, group = self._td, self._control
            comes = {
                k: td.irecv(self._tensor(found[k]), src=self._ranks[k], group=group, tag=0) for k in others
            }
            sent = [td.isend(mine, dst=self._ranks[k], group=group, tag=0) for k in others]
            for k, work in comes.items():
                left = _GRACE if late else max(_GRACE, end - monotonic())
                if not _arrives(work, left):
                    late.append(k)
            if not late:
                for work in sent:
                    work.wait()

        self._headers.call(lambda: self._guarded(exchange), what).wait(timeout + _GRACE * self.size + _MORE)
        if late:
            raise missing(what, late, timeout)
        return [header if k == self.rank else found[k].tobytes() for k in range(self.size)]

    def reduce_buffer(self, buffer: np.ndarray, op: str) -> None:
        if buffer.dtype not in _REDUCED:
            rows = self.gather_buffers(buffer, [buffer.size] * self.size)
            buffer[:] = in_order(rows.reshape(self.size, -1), op)
            return
        kind = getattr(self._td.ReduceOp, _OPS[op])
        self._guarded(lambda: self._td.all_reduce(self._tensor(buffer), kind, self._data))

    def broadcast_buffer(self, buffer: np.ndarray, root: int) -> None:
        self._guarded(lambda: self._td.broadcast(self._tensor(buffer), self._ranks[root], self._data))

    def gather_buffers(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """Gloo gathers equal parts: shorter ones are padded."""
        most = max(counts) * buffer.itemsize
        mine = np.zeros(most, np.uint8)
        mine[: buffer.nbytes] = buffer.view(np.uint8)
        rows = np.empty((self.size, most), np.uint8)
        parts = [self._tensor(row) for row in rows]
        self._guarded(lambda: self._td.all_gather(parts, self._tensor(mine), self._data))
        return np.concatenate([row[: n * buffer.itemsize] for row, n in zip(rows, counts)]).view(buffer.dtype)

    def give_up(self, what: str) -> None:
        """Ends this process at once: the end of Python would wait for the call."""
        said = f"texpr: rank {self.rank} ends in the midst of {what}, which other ranks have not made"
        print(said, file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(1)

    def _tensor(self, array: np.ndarray) -> Any:
        """The same memory as a tensor."""
        return self._torch.from_numpy(array)

    def _guarded(self, call: Callable[[], object]) -> None:
        """A call of torch; what it raises is said of the ranks."""
        try:
            call()
        except RuntimeError as error:
            raise DistributedError(
                f"gloo on rank {self.rank}: {str(error).splitlines()[0]}",
                code="ranks",
                help="see what the other ranks say: one of them has ended, or hangs",
            ) from None


def _arrives(work: Any, seconds: float) -> bool:
    """True if a message comes in time."""
    try:
        work.wait(timedelta(seconds=seconds))
    except RuntimeError as error:
        if "Timed out" not in str(error):
            raise
        return False
    return True


def _library() -> tuple[Any, Any]:
    """`torch` and `torch.distributed`, which is initialized."""
    with needs("torch", "dist.GlooCommunicator"):
        import torch
        import torch.distributed as td
    if not td.is_available() or not td.is_gloo_available():
        raise DistributedError(
            "this torch is built without gloo", code="import", help='use MPI: pip install "texpr[mpi]"'
        )
    if not td.is_initialized():
        if not td.is_torchelastic_launched():
            raise DistributedError(
                "torch.distributed is not initialized, and torchrun has not started this program",
                code="ranks",
                help="torchrun --nproc-per-node 4 train.py, or call torch.distributed.init_process_group",
            )
        td.init_process_group("gloo")
    return torch, td
