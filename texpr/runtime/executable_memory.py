"""Memory that holds machine code: pages that are executable and cannot be written, and pages of data
behind them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from functools import cache

PAGE = mmap.PAGESIZE
_FAILED = ctypes.c_void_p(-1).value


class CodeMemory:
    """Pages of the system, given back when nobody has this object. At the end of Python they stay:
    threads may still run what is there.

    Args:
        code: bytes that are to be executed.
        data: bytes behind them, from the next page on, that are to be written.
    Raises:
        OSError: the system gives no memory, or none that may be executed.
    """

    def __init__(self, code: int, data: int = 0) -> None:
        self._code = max(1, -(-code // PAGE)) * PAGE
        extent = self._code + data
        address = _libc().mmap(None, extent, mmap.PROT_READ | mmap.PROT_WRITE, _PRIVATE, -1, 0)
        if address in (None, _FAILED):
            raise _system_error()
        self.address: int = address
        weakref.finalize(self, _libc().munmap, address, extent).atexit = False

    @property
    def data_address(self) -> int:
        """The first byte of the data."""
        return self.address + self._code

    def fill(self, code: bytes | bytearray, data: bytes | bytearray = b"") -> None:
        """Write both. From then on the code may be run, and not be written."""
        ctypes.memmove(self.address, bytes(code), len(code))
        ctypes.memmove(self.data_address, bytes(data), len(data))
        if _libc().mprotect(self.address, self._code, mmap.PROT_READ | mmap.PROT_EXEC):
            raise _system_error()


_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def _system_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


@cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    size, word, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
    library.mmap.restype = word
    library.mmap.argtypes = [word, size, number, number, number, ctypes.c_long]
    library.munmap.argtypes = [word, size]
    library.mprotect.argtypes = [word, size, number]
    return library


def symbol_address(name: str) -> int | None:
    """The address of a symbol of the C library, Python, or another library that this process shares."""
    try:
        found = getattr(_libc(), name)
    except (AttributeError, ValueError):
        return None
    return ctypes.cast(found, ctypes.c_void_p).value
