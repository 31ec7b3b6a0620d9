"""Devices by name, their current streams, and what was loaded into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from texpr.runtime.gpu.driver_api import DEFAULT_STREAM, Driver, Facts
from texpr.runtime.gpu.pool import Memory, Pool
from texpr.support.errors import CallError, ResourceError
from texpr.support.late import late
from texpr.support.tracebacks import boundary

if TYPE_CHECKING:
    from texpr.runtime.gpu import emulated, nvidia
else:
    emulated = late("texpr.runtime.gpu.emulated")
    nvidia = late("texpr.runtime.gpu.nvidia")

HOST = "cpu"
DEFAULT = "cuda"
"""The device that code for GPUs runs on where none is named."""

NAMES = (HOST, "cuda", "cuda:1", "emulated")
"""Names of devices, as examples of what there may be."""

_SPELLING = re.compile(r"(cpu|cuda|emulated)(?::(\d+))?")


class Device:
    """Device with its memory.

    Attributes:
        name: such as `cuda:0`.
        driver: what runs on it.
        pool: its memory.
    Raises:
        ResourceError: when it is used, it has not enough memory, or work on it failed.
    Example:
        >>> device = tx.gpu.find_device("emulated")
        >>> device.name
        'emulated:0'
    """

    def __init__(self, name: str, driver: Driver) -> None:
        self.name, self.driver, self.pool = name, driver, Pool(driver)
        self._current: ContextVar[int] = ContextVar(f"texpr_stream_{name}", default=DEFAULT_STREAM)

    @property
    def facts(self) -> Facts:
        """Facts about the device."""
        return self.driver.facts

    @property
    def stream(self) -> int:
        """The stream on which this thread's work is queued."""
        return self._current.get()

    @contextmanager
    def on(self, stream: int) -> Iterator[None]:
        """Queue what the block does on a stream. It begins when what was queued here before is
        done, and what comes after waits for it.
        """
        before = self.stream
        self.order(before, stream)
        token = self._current.set(stream)
        try:
            yield
        finally:
            self._current.reset(token)
            self.order(stream, before)

    def order(self, first: int, then: int) -> None:
        """Let what is queued on the stream `then` wait for what was queued on `first`."""
        if first != then:
            event = self.driver.make_event()
            self.driver.record(event, first)
            self.driver.wait(then, event)
            self.driver.end_event(event)

    def synchronize(self) -> None:
        """Wait for all work."""
        self.driver.synchronize(None)

    def memory(self) -> Memory:
        """Statistics of the allocator."""
        return self.pool.statistics()

    def release(self) -> None:
        """Give memory that is kept for later back to the driver."""
        self.pool.release()

    def __repr__(self) -> str:
        return f"<device {self.name}: {self.facts.name}>"

    def __reduce__(self) -> tuple:
        return found_device, (self.name,)


_made: dict[str, Device] = {}
_lock = Lock()


def full_name(name: object) -> str:
    """Name of a device with its number: `cpu`, `cuda:0`, `emulated:0`. The device need not be
    there.

    Raises:
        CallError: it is no name of a device.
    Example:
        >>> tx.gpu.full_name("cuda")
        'cuda:0'
    """
    found = _SPELLING.fullmatch(name) if isinstance(name, str) else None
    if found is None or (found[1] == HOST and found[2]):
        raise CallError(
            f"there is no device {name!r}", code="device", help=f"devices are {', '.join(map(repr, NAMES))}"
        )
    return HOST if found[1] == HOST else f"{found[1]}:{int(found[2] or 0)}"


def is_device(name: object) -> bool:
    """True if a text names a device, one that is here or not.

    Example:
        >>> tx.gpu.is_device("cuda:1"), tx.gpu.is_device("kitchen")
        (True, False)
    """
    return isinstance(name, str) and _SPELLING.fullmatch(name) is not None


@boundary
def find_device(name: object) -> Device | None:
    """Device of a name; None for the host.

    Raises:
        CallError: it is no name of a device.
        ResourceError: the device is not there, or has no driver.
    Example:
        >>> tx.gpu.find_device("emulated").name
        'emulated:0'
    """
    whole = full_name(name)
    return None if whole == HOST else found_device(whole)


def found_device(whole: str) -> Device:
    """The device of a full name, made when it is first asked for."""
    with _lock:
        if whole not in _made:
            kind, _, number = whole.partition(":")
            _made[whole] = Device(
                whole, emulated.EmulatedDriver() if kind == "emulated" else nvidia.NvidiaDriver(int(number))
            )
        return _made[whole]


@cache
def _why_missing(name: str) -> str:
    try:
        find_device(name)
    except ResourceError as error:
        return error.message
    return ""


def missing(name: str = DEFAULT) -> str:
    """The reason why a device cannot be used here; empty if it can.

    Example:
        >>> tx.gpu.missing("emulated")
        ''
    """
    return _why_missing(name)
