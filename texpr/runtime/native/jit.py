"""Code that is made and linked in this process, and the lock for all work with LLVM."""

from __future__ import annotations

import platform
import struct
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from texpr.runtime.linking import linker, perf_map
from texpr.support.errors import CompileError
from texpr.support.forks import held_over_forks
from texpr.support.late import late
from texpr.support.options import current
from texpr.support.version import FREE_THREADED

if TYPE_CHECKING:
    from texpr.runtime.linking import llvm_library
else:
    llvm_library = late("texpr.runtime.linking.llvm_library")

lock = held_over_forks(threading.RLock())


class Library(Protocol):
    """Code in this process, as long as the object is there: addresses by name."""

    def __getitem__(self, name: str, /) -> int: ...


@cache
def require_known_host() -> None:
    """Nothing, on a machine that texpr has native code for.

    Raises:
        CompileError: it is a machine, a system or a Python that texpr has none for.
    """
    if FREE_THREADED and sys.version_info < (3, 14):
        raise CompileError(
            "kernels run in free-threaded builds of Python from 3.14 on; this is "
            f"{platform.python_version()}",
            code="python",
            help="use Python 3.14, or the usual build of the same version",
        )
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        raise CompileError(
            f"kernels run on Linux on x86-64 and aarch64; this is {platform.system()} on {platform.machine()}"
        )


def compile_text(text: str) -> bytes:
    """Object code of LLVM IR text, for this machine, by LLVM's passes."""
    require_known_host()
    with lock:
        return llvm_library.optimized_object(text)


def compile_as_written(text: str) -> bytes:
    """Object code of LLVM IR text that is optimized, without passes."""
    require_known_host()
    with lock:
        return llvm_library.object_as_written(text)


def link(object_code: bytes, exports: Iterable[str], imports: Mapping[str, int]) -> Library:
    """Link object code into the process; it stays as long as the result does, which maps
    exported names to addresses.

    Raises:
        CompileError: it is damaged, lacks an export, or needs what is not there.
    """
    require_known_host()
    wanted = frozenset(exports)
    try:
        library = _linked(object_code, wanted, imports)
    except (RuntimeError, ValueError, struct.error, IndexError, OSError) as error:
        raise CompileError(f"the object code does not link: {error}") from error
    if current().perf_map:
        perf_map.record(object_code, library.__getitem__, wanted)
    return library


def _is_traced() -> bool:
    """True while a debugger watches this process: LLVM tells gdb the names of what it links."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return "\nTracerPid:\t0\n" not in status


def _linked(object_code: bytes, exports: frozenset[str], imports: Mapping[str, int]) -> Library:
    if platform.machine() == "x86_64" and not _is_traced():
        return linker.linked(object_code, exports, imports)
    with lock:
        return llvm_library.linked(object_code, exports, imports)
