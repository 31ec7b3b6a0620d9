"""The interface of a GPU's driver: memory, copies, streams, events, code, launches, graphs.
Everything above is the same for all drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from texpr.support.frozen_dataclass import frozen

BoxMap = tuple[int, str, tuple[int, ...], tuple[int, ...], int]
"""A tensor whose boxes are copied as a whole: the position of its address, its type, its shape and
that of its boxes, bytes of the rows in which units of 16 bytes are exchanged."""
Extents = tuple[int, int, int]

DEFAULT_STREAM = 0
"""The stream that is there from the beginning; it waits for all others that were made to wait,
as they do for it.
"""


class OutOfMemory(Exception):
    """The device has not as much memory as was asked for: the allocator answers it, users do not
    see it.
    """


@frozen
class Code:
    """A module of kernels.

    Attributes:
        emitted: LLVM IR as the target emits it.
        assembly: gives what the processor's driver takes.
    """

    emitted: str
    assembly: Callable[[], str]


@frozen
class Facts:
    """Facts about a device.

    Attributes:
        name: as its maker calls it.
        capability: major and minor version of what its processor can do.
        memory: bytes.
        driver: the version of the driver, in words.
        dlpack: the number by which DLPack knows such devices, and this one's among them.
        shares: other libraries of this process can read its addresses.
    """

    name: str
    capability: tuple[int, int]
    memory: int
    driver: str
    dlpack: tuple[int, int]
    shares: bool


class Driver(Protocol):
    """One device. Addresses, streams and events are numbers that mean something to it alone.

    Work is queued on streams and runs in their order; streams run beside each other unless events
    order them. All methods may be called from any thread.
    """

    facts: Facts

    def allocate(self, size: int) -> int:
        """The address of `size` bytes, at a multiple of 256.

        Raises:
            OutOfMemory: there is not so much.
        """
        ...

    def free(self, address: int) -> None:
        """Give memory back when all work that was queued is done."""
        ...

    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and bytes altogether."""
        ...

    def to_device(self, address: int, source: np.ndarray, stream: int) -> None:
        """Queue a copy of a contiguous array, which may be changed as soon as this returns."""
        ...

    def to_host(self, target: np.ndarray, address: int, stream: int) -> None:
        """Copy to a contiguous array when the stream has come so far, and wait for it."""
        ...

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Queue a copy of bytes from address to address."""
        ...

    def fill(self, address: int, byte: int, size: int, stream: int) -> None:
        """Queue setting bytes."""
        ...

    def make_stream(self) -> int:
        """A new stream."""
        ...

    def end_stream(self, stream: int) -> None:
        """Forget a stream when its work is done."""
        ...

    def synchronize(self, stream: int | None) -> None:
        """Wait for a stream, or for all of them."""
        ...

    def make_event(self) -> int:
        """A new event, which counts as reached."""
        ...

    def end_event(self, event: int) -> None:
        """Forget an event."""
        ...

    def record(self, event: int, stream: int) -> None:
        """Let the event be reached when the stream has come so far."""
        ...

    def wait(self, stream: int, event: int) -> None:
        """Let what is queued on the stream from now on wait for the event as it was recorded
        last.
        """
        ...

    def reached(self, event: int) -> bool:
        """True if an event is reached."""
        ...

    def milliseconds(self, start: int, end: int) -> float:
        """The time between two events that were recorded, when both are reached."""
        ...

    def load(self, code: Code) -> Any:
        """Code as a module of the device.

        Raises:
            CompileError: the device does not take it.
        """
        ...

    def function(self, module: Any, symbol: str, shared: int = 0) -> Any:
        """A kernel of a module, whose launches may give blocks so many bytes of shared memory.

        Raises:
            CompileError: the device has not so much.
        """
        ...

    def parameters(self, addresses: Sequence[int], sizes: Sequence[int], maps: Sequence[BoxMap] = ()) -> Any:
        """The parameters of a kernel, for any number of launches.

        Args:
            maps: of memory at some of the addresses.
        """
        ...

    def launch(
        self, function: Any, grid: Extents, block: Extents, parameters: Any, stream: int, shared: int = 0
    ) -> None:
        """Queue a kernel; each block gets `shared` bytes of shared memory beside what its code
        says.
        """
        ...

    def begin_capture(self) -> int:
        """A stream on which work that is queued from now on is written down and not done."""
        ...

    def end_capture(self, stream: int) -> Any:
        """The work recorded since `begin_capture`, as a graph; the stream is gone."""
        ...

    def launch_graph(self, graph: Any, stream: int) -> None:
        """Queue all work of a graph as one piece."""
        ...

    def end_graph(self, graph: Any) -> None:
        """Forget a graph."""
        ...
