"""Memory of a device, kept when it is given back: the driver's own allocation waits for all work
and takes as long as many kernels.

Blocks belong to streams. What was used on its own stream alone can be given out again on that
stream at once, for work there is in order; what was used on others waits for events on them. Small
blocks are cut from segments of 2 MiB, others from segments of their own size, and neighbours are
joined when both are free.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from texpr.runtime.gpu.driver_api import Driver, OutOfMemory
from texpr.support.errors import ResourceError
from texpr.support.frozen_dataclass import frozen

_SEGMENT = 2 << 20
_SMALL = 1 << 20
_ROUND = 512


@frozen
class Memory:
    """State of an allocator, in bytes where it is no count.

    Attributes:
        in_use: bytes of arrays that are alive.
        most: bytes that were in use at once.
        reserved: bytes held from the driver, in use or not.
        free, total: bytes of the device, as the driver has it; others use what is neither free nor
            reserved.
        requests: how often memory was asked for.
        allocations: how often the driver was asked.
        retries: how often memory was given back first, for want of it.
    Example:
        >>> tx.gpu.find_device("emulated").pool.statistics().in_use >= 0
        True
    """

    in_use: int
    most: int
    reserved: int
    free: int
    total: int
    requests: int
    allocations: int
    retries: int

    def __str__(self) -> str:
        return (
            f"{_size(self.in_use)} in use, {_size(self.most)} at most, {_size(self.reserved)} reserved, "
            f"{_size(self.free)} of "
            f"{_size(self.total)} free; {self.requests} requests, {self.allocations} allocations, "
            f"{self.retries} retries"
        )


@dataclass(eq=False, slots=True)
class Block:
    """Bytes of a segment, in use or free.

    Attributes:
        stream: that it belongs to.
        small: its segment serves requests of at most 1 MiB.
        others: streams that used it besides.
        before, after: neighbours in the segment.
    """

    address: int
    size: int
    stream: int
    small: bool
    free: bool = True
    others: set[int] = field(default_factory=set)
    before: Block | None = None
    after: Block | None = None

    @property
    def whole(self) -> bool:
        """True if the block is a whole segment."""
        return self.before is None and self.after is None


class Pool:
    """The memory of one device. Calls may come from any thread."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._lock = driver, threading.RLock()
        self._free: dict[tuple[int, bool], set[Block]] = {}
        self._returned: deque[Block] = deque()
        self._waiting: deque[tuple[Block, list[int]]] = deque()
        self._in_use = self._most = self._reserved = self._requests = self._allocations = self._retries = 0

    def take(self, size: int, stream: int) -> Block:
        """A block of at least `size` bytes for work on a stream.

        Raises:
            ResourceError: the device has not so much, even when all that was kept is given back.
        """
        wanted = max(1, -(-size // _ROUND)) * _ROUND
        with self._lock:
            self._settle()
            self._requests += 1
            block = self._best(wanted, stream) or self._segment(wanted, stream)
            self._cut(block, wanted)
            block.free, self._in_use = False, self._in_use + block.size
            self._most = max(self._most, self._in_use)
            return block

    def give_back(self, block: Block) -> None:
        """Nobody uses a block any longer. It is noted only: this is called where objects end, in
        the middle of anything.
        """
        self._returned.append(block)

    def statistics(self) -> Memory:
        """The present state."""
        with self._lock:
            self._settle()
            return Memory(
                self._in_use,
                self._most,
                self._reserved,
                *self._driver.memory(),
                self._requests,
                self._allocations,
                self._retries,
            )

    def release(self) -> None:
        """Give what is not in use back to the driver."""
        with self._lock:
            self._settle()
            if self._waiting:
                self._driver.synchronize(None)
                self._settle()
            for blocks in self._free.values():
                for block in [b for b in blocks if b.whole]:
                    blocks.remove(block)
                    self._reserved -= block.size
                    self._driver.free(block.address)

    def _settle(self) -> None:
        """Take in what was given back, unless another stream still uses it."""
        while self._returned:
            block = self._returned.popleft()
            self._in_use -= block.size
            others = [s for s in block.others if s != block.stream]
            if not others:
                self._join(block)
                continue
            events = [self._driver.make_event() for _ in others]
            for event, stream in zip(events, others):
                self._driver.record(event, stream)
            block.others.clear()
            self._waiting.append((block, events))
        for _ in range(len(self._waiting)):
            block, events = self._waiting.popleft()
            if all(map(self._driver.reached, events)):
                for event in events:
                    self._driver.end_event(event)
                self._join(block)
            else:
                self._waiting.append((block, events))

    def _best(self, wanted: int, stream: int) -> Block | None:
        """The smallest block that is free and large enough; a large one is not spent on little."""
        found = [b for b in self._free.get((stream, wanted <= _SMALL), ()) if b.size >= wanted]
        block = min(found, key=lambda b: (b.size, b.address), default=None)
        if block is not None:
            self._free[block.stream, wanted <= _SMALL].remove(block)
        return block

    def _segment(self, wanted: int, stream: int) -> Block:
        """A new segment from the driver."""
        small = wanted <= _SMALL
        size = _SEGMENT if small else -(-wanted // _SEGMENT) * _SEGMENT
        try:
            address = self._driver.allocate(size)
        except OutOfMemory:
            self._retries += 1
            self.release()
            try:
                address = self._driver.allocate(size)
            except OutOfMemory:
                raise self._too_much(wanted) from None
        self._allocations, self._reserved = self._allocations + 1, self._reserved + size
        return Block(address, size, stream, small)

    def _too_much(self, wanted: int) -> ResourceError:
        free, total = self._driver.memory()
        return ResourceError(
            f"the GPU has not enough memory: {_size(wanted)} were asked for",
            code="memory",
            notes=(
                f"of {_size(total)}, {_size(free)} are free; {_size(self._in_use)} are in use here, "
                f"{_size(max(0, total - free - self._reserved))} by others, "
                f"{_size(self._reserved - self._in_use)} are kept in parts that are too small",
            ),
            help="use smaller batches, or let go of tensors that are not needed",
        )

    def _cut(self, block: Block, wanted: int) -> None:
        """Keep what is left over of a block, if it is worth it."""
        if block.size - wanted < (_ROUND if block.small else _SMALL):
            return
        rest = Block(
            block.address + wanted,
            block.size - wanted,
            block.stream,
            block.small,
            before=block,
            after=block.after,
        )
        if rest.after is not None:
            rest.after.before = rest
        block.after, block.size = rest, wanted
        self._keep(rest)

    def _join(self, block: Block) -> None:
        """Make a block free, as one with its free neighbours."""
        block.free = True
        if block.before is not None and block.before.free:
            block = self._joined(block.before, block)
        if block.after is not None and block.after.free:
            block = self._joined(block, block.after)
        self._keep(block)

    def _joined(self, first: Block, second: Block) -> Block:
        self._forget(first)
        self._forget(second)
        first.size += second.size
        first.after = second.after
        if second.after is not None:
            second.after.before = first
        return first

    def _keep(self, block: Block) -> None:
        self._free.setdefault((block.stream, block.small), set()).add(block)

    def _forget(self, block: Block) -> None:
        self._free.get((block.stream, block.small), set()).discard(block)


def _size(number: int) -> str:
    """Bytes for people."""
    for unit, each in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= each:
            return f"{number / each:.1f} {unit}"
    return f"{number} bytes"
