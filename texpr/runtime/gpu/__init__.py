"""GPUs at run time: devices by name, their memory, streams and graphs. `tx.gpu` is this package.

A driver (`driver_api.py`) has two implementations: NVIDIA's, and one that runs every thread of a
kernel as a fiber of the CPU, which tests use and which is a device like any other, called
`emulated`.
Above it are the allocator, arrays and kernels, which do not know which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.runtime.gpu.array import DeviceArray, empty, to_device
    from texpr.runtime.gpu.device import (
        DEFAULT,
        HOST,
        NAMES,
        Device,
        find_device,
        full_name,
        is_device,
        missing,
    )
    from texpr.runtime.gpu.dlpack import Exchanged, exported, taken_over
    from texpr.runtime.gpu.driver_api import DEFAULT_STREAM, Code, Facts
    from texpr.runtime.gpu.emulated import EmulatedDriver
    from texpr.runtime.gpu.kernels import Bound, Loaded, Replay
    from texpr.runtime.gpu.nvidia import NvidiaDriver
    from texpr.runtime.gpu.pool import Memory, Pool
    from texpr.runtime.gpu.streams import Event, Stream

__all__ = [
    "DEFAULT",
    "DEFAULT_STREAM",
    "HOST",
    "NAMES",
    "Bound",
    "Code",
    "Device",
    "DeviceArray",
    "EmulatedDriver",
    "Event",
    "Exchanged",
    "Facts",
    "Loaded",
    "Memory",
    "NvidiaDriver",
    "Pool",
    "Replay",
    "Stream",
    "empty",
    "exported",
    "find_device",
    "full_name",
    "is_device",
    "missing",
    "taken_over",
    "to_device",
]

offer_late(__name__)
