"""Shares of a loader: which batches of an epoch a rank takes, so that each is taken once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from texpr.support.errors import CallError


class Share(NamedTuple):
    """A batch of a rank: the numbers of its examples, and how many of them are there only because
    other ranks have a batch more.
    """

    indices: np.ndarray
    padding: int = 0


class Shard(NamedTuple):
    """The part of a loader: that of rank `rank` of `size`; `comm` compares orders, where it was
    given.
    """

    rank: int
    size: int
    comm: Any = None

    @staticmethod
    def of(owner: str, given: Any) -> Shard:
        """A shard from a communicator, a pair, or None for all of the data.

        Raises:
            CallError: something else.
        """
        if given is None:
            return Shard(0, 1)
        is_comm = all(hasattr(given, name) for name in ("rank", "size", "compare"))
        pair = (given.rank, given.size) if is_comm else given
        good = isinstance(pair, tuple | list) and len(pair) == 2 and all(_is_whole(n) for n in pair)
        if not good or not 0 <= pair[0] < pair[1]:
            raise CallError(
                f"{owner}: shard is {given!r}, expected a communicator or (rank, size)", code="arguments"
            )
        return Shard(int(pair[0]), int(pair[1]), None if pair is given else given)

    def rounds(self, count: int) -> int:
        """Batches of each rank, where there are `count` in all."""
        return -(-count // self.size)

    def shares(self, batches: Sequence[np.ndarray], start: int) -> list[Share]:
        """The batches that this rank takes from `start` on, in turn with the others.

        All ranks take equally many: one that would have a batch less takes its last one again, or
        where it has none the first of all, as padding.
        """
        left = batches[start:]
        found = [Share(indices) for indices in left[self.rank :: self.size]]
        if len(found) < self.rounds(len(left)):
            again = found[-1].indices if found else left[0]
            found.append(Share(again, len(again)))
        return found

    def check(self, batches: Sequence[np.ndarray], epoch: int, start: int) -> None:
        """Let all ranks compare their orders: each example counts once only where they are equal.

        Raises:
            DistributedError: they differ.
        """
        if self.comm is None or self.size == 1:
            return
        order = blake2b(digest_size=16)
        for batch in batches:
            order.update(np.ascontiguousarray(batch, np.int64).tobytes() + b"|")
        lines = [
            f"{sum(map(len, batches))} examples in {len(batches)} batches",
            f"epoch {epoch} from batch {start} on",
            f"order {order.hexdigest()}",
        ]
        self.comm.compare("the batches of a loader", "\n".join(lines))


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
