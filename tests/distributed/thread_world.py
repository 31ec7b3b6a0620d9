"""Ranks as threads of one process: a communicator for tests of what stands above MPI, and for
those of failures that MPI would end the process for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

import numpy as np

from texpr.distributed import Communicator
from texpr.distributed.rank_checks import missing


class ThreadCommunicator(Communicator):
    """Rank of a world whose ranks are threads.

    Args:
        delay: seconds that a reduction takes.
    """

    def __init__(self, world: Board, rank: int, timeout: float, delay: float = 0.0) -> None:
        super().__init__(timeout)
        self._world, self.rank, self.size = world, rank, world.size
        self.local_rank, self.local_size = rank, world.size
        self.delay, self._calls, self.reductions = delay, {}, 0

    def _all(self, kind: str, value: Any, what: str = "data", timeout: float | None = None) -> list[Any]:
        turn = self._calls[kind] = self._calls.get(kind, -1) + 1
        return self._world.exchange(
            (kind, turn), self.rank, value, what, self.timeout if timeout is None else timeout
        )

    def exchange_headers(self, header: bytes, what: str, timeout: float) -> list[bytes]:
        return self._all("header", header, what, timeout)

    def reduce_buffer(self, buffer: np.ndarray, op: str) -> None:
        """In an order that is not that of the ranks: the last rank first."""
        self.reductions += 1
        sleep(self.delay)
        function = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[op]
        rows = self._all("data", buffer.copy())[::-1]
        buffer[:] = rows[0]
        for row in rows[1:]:
            function(buffer, row, out=buffer)

    def broadcast_buffer(self, buffer: np.ndarray, root: int) -> None:
        buffer[:] = self._all("data", buffer.copy())[root]

    def gather_buffers(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        rows = self._all("data", buffer.copy())
        assert [len(row) for row in rows] == list(counts)
        return np.concatenate(rows)


class Board:
    """Where threads leave values for each other."""

    def __init__(self, size: int) -> None:
        self.size, self._values, self._changed = size, {}, threading.Condition()

    def exchange(self, key: tuple, rank: int, value: Any, what: str, timeout: float) -> list[Any]:
        """The values of all ranks under a key."""
        end = monotonic() + timeout
        with self._changed:
            values = self._values.setdefault(key, {})
            values[rank] = value
            self._changed.notify_all()
            while len(values) < self.size:
                if not self._changed.wait(max(0.0, end - monotonic())) and len(values) < self.size:
                    raise missing(what, [k for k in range(self.size) if k not in values], timeout)
            return [values[k] for k in range(self.size)]


def run_ranks(
    size: int, function: Callable[[Communicator], Any], timeout: float = 10.0, delay: float = 0.0
) -> list[Any]:
    """What a function gives on each rank; errors are results too."""
    world = Board(size)

    def one(rank: int) -> Any:
        try:
            return function(ThreadCommunicator(world, rank, timeout, delay))
        except Exception as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))
