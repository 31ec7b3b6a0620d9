"""Streams and events for users: work beside other work, and how long it takes."""

from __future__ import annotations

from contextlib import AbstractContextManager

from texpr.runtime.gpu.device import Device, find_device
from texpr.support.errors import CallError


def _device(name: object) -> Device:
    found = find_device(name)
    if found is None:
        raise CallError("the CPU has no streams", code="device", help='name a GPU, such as "cuda"')
    return found


class Stream:
    """Queue of work on a device, beside the default queue.

    Work in the block comes after all that was queued before; what follows the block waits for it.

    Args:
        device: its name.
        handle: a stream of another library, by its number, such as
            `torch.cuda.Stream().cuda_stream`; a new one unless given.
    Raises:
        CallError: there is no device of that name.
        ResourceError: the device is not here.
    Example:
        >>> with tx.gpu.Stream("emulated"):
        ...     y = tx.ones(3, device="emulated") + 1
        >>> y.tolist()
        [2.0, 2.0, 2.0]
    """

    def __init__(self, device: str = "cuda", handle: int | None = None) -> None:
        self._device = _device(device)
        self._own = handle is None
        self.handle = self._device.driver.make_stream() if handle is None else int(handle)
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Stream:
        self._entered.append(self._device.on(self.handle))
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._entered.pop().__exit__(None, None, None)

    def synchronize(self) -> None:
        """Wait for what was queued."""
        self._device.driver.synchronize(self.handle)

    def __repr__(self) -> str:
        return f"<stream {self.handle} of {self._device.name}>"


class Event:
    """Point in the work of a device.

    Args:
        device: its name.
    Raises:
        CallError: there is no device of that name.
        ResourceError: the device is not here.
    Example:
        >>> event = tx.gpu.Event("emulated")
    """

    def __init__(self, device: str = "cuda") -> None:
        self._device = _device(device)
        self._handle = self._device.driver.make_event()

    def record(self) -> None:
        """Reached when all that was queued on the current stream is done."""
        self._device.driver.record(self._handle, self._device.stream)

    def wait(self) -> None:
        """Let the current stream wait for it."""
        self._device.driver.wait(self._device.stream, self._handle)

    def reached(self) -> bool:
        """True if the event is reached."""
        return self._device.driver.reached(self._handle)

    def milliseconds_since(self, start: Event) -> float:
        """The time from another event, when both are reached."""
        return self._device.driver.milliseconds(start._handle, self._handle)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._device.driver.end_event(self._handle)
