"""Names of compiled code for `perf`: lines of the file `perf-PID.map`, which `perf report` reads.

A line is the address, the size in bytes (both hexadecimal) and the name of a function: `perf` finds
samples in them. The sizes stand in the symbol table of the object code. Format: the file
tools/perf/Documentation/jit-interface.txt of Linux.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from texpr.support.frozen_dataclass import frozen
from texpr.support.warn import warn

_SYMBOL_TABLE, _FUNCTION = 2, 2
_writing = threading.Lock()


@frozen
class Function:
    """A function of an object file. `start` is its offset in its section."""

    name: str
    section: int
    start: int
    size: int


def functions(object_code: bytes) -> Iterator[Function]:
    """The functions that a 64-bit ELF object defines; none of another format.

    Layout: System V Application Binary Interface, chapter 4, Object Files.
    """
    if object_code[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", object_code, 0x28)
    size, count = struct.unpack_from("<HH", object_code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", object_code, table + k * size) for k in range(count)]
    for kind, offset, length, link, entry in ((s[1], s[4], s[5], s[6], s[9]) for s in sections):
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", object_code, at)
            if info & 15 == _FUNCTION and 0 < section < count:
                end = object_code.index(b"\0", names + name)
                yield Function(object_code[names + name : end].decode(), section, value, extent)


def map_file() -> Path:
    """The file that `perf` looks for."""
    return Path("/", "tmp", f"perf-{os.getpid()}.map")


def record(object_code: bytes, address_of: Callable[[str], int], exports: frozenset[str]) -> None:
    """Write a line for each function of object code that was linked. Those that are not exported lie
    as far from one that is as in their section.
    """
    found = list(functions(object_code))
    bases = {f.section: address_of(f.name) - f.start for f in found if f.name in exports}
    lines = [
        f"{bases[f.section] + f.start:x} {f.size:x} {f.name}\n"
        for f in found
        if f.section in bases and f.size
    ]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW  # the folder is everybody's
    try:
        with _writing, open(os.open(map_file(), flags, 0o600), "w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        warn(f"{map_file()} is not written: {error.strerror}")
