"""Names of compiled code for `perf`: lines of the file `perf-PID.map`, which `perf report` reads.

A line is the address, the size in bytes (both hexadecimal) and the name of a function: `perf` finds
samples in them. The sizes stand in the symbol table of the object code. Format: the file
tools/perf/Documentation/jit-interface.txt of Linux.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from texpr.runtime.linking.object_file import FUNCTION, ObjectFile, Symbol
from texpr.support.warn import warn

_writing = threading.Lock()


def functions(object_code: bytes) -> Iterator[Symbol]:
    """The functions that a 64-bit ELF object defines; none of another format."""
    if object_code[:6] != b"\x7fELF\x02\x01":
        return
    file = ObjectFile(object_code)
    for symbol in file.symbols():
        if symbol.kind == FUNCTION and 0 < symbol.section < len(file.sections):
            yield symbol


def map_file() -> Path:
    """The file that `perf` looks for."""
    return Path("/", "tmp", f"perf-{os.getpid()}.map")


def record(object_code: bytes, address_of: Callable[[str], int], exports: frozenset[str]) -> None:
    """Write a line for each function of object code that was linked. Those that are not exported lie
    as far from one that is as in their section.
    """
    found = list(functions(object_code))
    bases = {f.section: address_of(f.name) - f.value for f in found if f.name in exports}
    lines = [
        f"{bases[f.section] + f.value:x} {f.size:x} {f.name}\n"
        for f in found
        if f.section in bases and f.size
    ]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW  # the folder is everybody's
    try:
        with _writing, open(os.open(map_file(), flags, 0o600), "w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        warn(f"{map_file()} is not written: {error.strerror}")
