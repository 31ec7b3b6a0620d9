"""A device that is this CPU: each thread of a kernel is a fiber.

It is as strict as a device may be. Its addresses mean nothing to the host; fresh memory holds NaNs;
memory that was freed is refused. What is queued on a stream runs as late as it can: when somebody
waits for it.
"""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from texpr.runtime.emulator import fibers
from texpr.runtime.gpu.driver_api import DEFAULT_STREAM, BoxMap, Code, Extents, Facts, OutOfMemory
from texpr.support.frozen_dataclass import frozen

_FIRST_ADDRESS, _LINE, _GAP = 1 << 44, 256, 4096
_EXTENSION_DEVICE = 12  # DLPack's kDLExtDev

_Work = Callable[[], None]


@dataclass(slots=True)
class _Event:
    """Counts of how often an event was recorded and reached, where it was recorded last, and when
    it was reached.
    """

    recorded: int = 0
    reached: int = 0
    stream: int = DEFAULT_STREAM
    time: float = 0.0


@frozen
class _Parameters:
    """Addresses as the host knows them, sizes, and what has to live as long."""

    words: ctypes.Array
    memory: tuple[np.ndarray, ...]


@frozen
class _Kernel:
    emulator: fibers.Emulator
    symbol: str


@dataclass(slots=True)
class _Queues:
    """Work of streams that waits, what is written down instead, and the numbers of what was
    made.
    """

    waiting: dict[int, deque[_Work]] = field(default_factory=lambda: {DEFAULT_STREAM: deque()})
    captured: dict[int, list[_Work]] = field(default_factory=dict)
    capturing: dict[int, int] = field(default_factory=dict)
    """The threads that write work down, with the streams."""
    events: dict[int, _Event] = field(default_factory=dict)
    made: int = 0

    def number(self) -> int:
        self.made += 1
        return self.made


class EmulatedDriver:
    """The emulated device.

    Args:
        memory: bytes that it has.
        backwards: threads of a block run from the last one to the first.
    """

    def __init__(
        self, memory: int = 4 << 30, *, capability: tuple[int, int] = (8, 0), backwards: bool = False
    ) -> None:
        self.facts = Facts("emulated", capability, memory, "of this package", (_EXTENSION_DEVICE, 0), False)
        self._backwards = backwards
        self._starts: list[int] = []
        self._blocks: dict[int, np.ndarray] = {}
        self._next = _FIRST_ADDRESS
        self._queues = _Queues()
        self._lock = threading.RLock()

    # Memory.

    def allocate(self, size: int) -> int:
        """The address of fresh memory, full of NaNs."""
        with self._lock:
            self._refuse_capture()
            if size > self.memory()[0]:
                raise OutOfMemory
            whole = np.full(size + _LINE, 0xFF, np.uint8)
            start = -whole.ctypes.data % _LINE
            address, self._next = self._next, self._next + -(-(size + _GAP) // _LINE) * _LINE
            self._starts.append(address)
            self._blocks[address] = whole[start : start + size]
            return address

    def free(self, address: int) -> None:
        """Give memory back, when all that was queued is done."""
        with self._lock:
            self.synchronize(None)
            assert address in self._blocks, f"{address:#x} is no memory that was allocated"
            self._starts.remove(address)
            del self._blocks[address]

    def memory(self) -> tuple[int, int]:
        """Free bytes and all bytes."""
        return self.facts.memory - sum(b.nbytes for b in self._blocks.values()), self.facts.memory

    def _found(self, address: int, size: int) -> tuple[np.ndarray, int]:
        """The block in which bytes lie, and where."""
        place = bisect_right(self._starts, address) - 1
        start = self._starts[place] if place >= 0 else address
        block = self._blocks.get(start)
        assert block is not None and address - start + size <= block.nbytes, (
            f"{size} bytes at {address:#x} are not allocated"
        )
        return block, address - start

    def _at(self, address: int, size: int) -> np.ndarray:
        """The host's view of device memory."""
        block, at = self._found(address, size)
        return block[at : at + size]

    def to_device(self, address: int, source: np.ndarray, stream: int) -> None:
        """Queue a copy of the array as it is now."""
        assert source.flags.c_contiguous, "copies are of contiguous arrays"
        with self._lock:
            target, content = self._at(address, source.nbytes), source.tobytes()
            self._queue(stream, lambda: np.copyto(target, np.frombuffer(content, np.uint8)))

    def to_host(self, target: np.ndarray, address: int, stream: int) -> None:
        """Wait for the stream and copy."""
        assert target.flags.c_contiguous, "copies are of contiguous arrays"
        with self._lock:
            self.synchronize(stream)
            ctypes.memmove(target.ctypes.data, self._at(address, target.nbytes).ctypes.data, target.nbytes)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Queue a copy from address to address."""
        with self._lock:
            to, origin = self._at(target, size), self._at(source, size)
            self._queue(stream, lambda: np.copyto(to, origin))

    def fill(self, address: int, byte: int, size: int, stream: int) -> None:
        """Queue setting bytes."""
        with self._lock:
            target = self._at(address, size)
            self._queue(stream, lambda: target.fill(byte))

    # Streams and events.

    def make_stream(self) -> int:
        """A new stream."""
        with self._lock:
            number = self._queues.number()
            self._queues.waiting[number] = deque()
            return number

    def end_stream(self, stream: int) -> None:
        """Do its work and forget it."""
        with self._lock:
            self.synchronize(stream)
            del self._queues.waiting[stream]

    def synchronize(self, stream: int | None) -> None:
        """Do the work of a stream, or of all."""
        with self._lock:
            self._refuse_capture()
            for each in list(self._queues.waiting) if stream is None else [stream]:
                waiting = self._queues.waiting[each]
                while waiting:
                    waiting.popleft()()

    def make_event(self) -> int:
        """A new event."""
        with self._lock:
            number = self._queues.number()
            self._queues.events[number] = _Event()
            return number

    def end_event(self, event: int) -> None:
        """Forget an event; work that knows it goes on."""
        with self._lock:
            del self._queues.events[event]

    def record(self, event: int, stream: int) -> None:
        """Queue reaching an event."""
        with self._lock:
            found = self._queues.events[event]
            found.recorded, found.stream = found.recorded + 1, stream
            number = found.recorded

            def reach() -> None:
                found.reached, found.time = number, perf_counter()

            self._queue(stream, reach)

    def wait(self, stream: int, event: int) -> None:
        """Queue waiting for an event as it is recorded now."""
        with self._lock:
            found = self._queues.events[event]
            number, origin = found.recorded, found.stream

            def wait() -> None:
                while found.reached < number:
                    self._queues.waiting[origin].popleft()()

            self._queue(stream, wait)

    def reached(self, event: int) -> bool:
        """True if an event is reached; asking does no work."""
        found = self._queues.events[event]
        return found.reached == found.recorded

    def milliseconds(self, start: int, end: int) -> float:
        """The time between two events."""
        with self._lock:
            first, last = self._queues.events[start], self._queues.events[end]
            for each in (first, last):
                while each.reached < each.recorded:
                    self._queues.waiting[each.stream].popleft()()
            return (last.time - first.time) * 1e3

    def _queue(self, stream: int, work: _Work) -> None:
        captured = self._queues.captured.get(stream)
        (self._queues.waiting[stream] if captured is None else captured).append(work)

    # Code.

    def load(self, code: Code) -> fibers.Emulator:
        """The emitted text, compiled for this machine."""
        return fibers.load(code.emitted)

    def function(self, module: fibers.Emulator, symbol: str, shared: int = 0) -> _Kernel:
        """A kernel of a module."""
        return _Kernel(module, symbol)

    def parameters(
        self, addresses: Sequence[int], sizes: Sequence[int], maps: Sequence[BoxMap] = ()
    ) -> _Parameters:
        """The arguments of kernels."""
        with self._lock:
            places = [self._found(a, 0) for a in addresses]
        arrays = [block.ctypes.data + at for block, at in places]
        made = [fibers.encode_tensor_map(arrays[m[0]], m) for m in maps]
        words = [*arrays, *sizes, *(m.ctypes.data for m in made)]
        return _Parameters(
            (ctypes.c_int64 * max(len(words), 1))(*words), (*(block for block, _ in places), *made)
        )

    def launch(
        self,
        function: _Kernel,
        grid: Extents,
        block: Extents,
        parameters: _Parameters,
        stream: int,
        shared: int = 0,
    ) -> None:
        """Queue a kernel."""
        with self._lock:
            self._queue(
                stream,
                lambda: function.emulator.launch(
                    function.symbol, grid, block, parameters.words, self._backwards, shared
                ),
            )

    # Graphs.

    def begin_capture(self) -> int:
        """A stream whose work is written down."""
        with self._lock:
            number = self._queues.number()
            self._queues.captured[number] = []
            self._queues.capturing[threading.get_ident()] = number
            return number

    def end_capture(self, stream: int) -> list[_Work]:
        """The recorded work."""
        with self._lock:
            del self._queues.capturing[threading.get_ident()]
            return self._queues.captured.pop(stream)

    def launch_graph(self, graph: list[_Work], stream: int) -> None:
        """Queue what was written down."""
        with self._lock:
            for work in graph:
                self._queue(stream, work)

    def end_graph(self, graph: list[_Work]) -> None:
        """Forget it: nothing is held."""

    def _refuse_capture(self) -> None:
        assert threading.get_ident() not in self._queues.capturing, (
            "memory is made or waited for while a graph is captured"
        )
