"""Facts about this machine. Nothing here changes anything."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from texpr.runtime import disk_cache
from texpr.runtime.processor_answers import answers
from texpr.support.late import late
from texpr.support.version import installed

if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = late("llvmlite.binding")


@cache
def cpu_name() -> str:
    """LLVM's name of this CPU. Of one whose virtual machine states an older model, that of the
    oldest one that has its features.
    """
    name, features = _stated()[0], cpu_features()
    if "amx-tile" not in features or name.endswith("rapids"):
        return name
    return "graniterapids" if "prefetchi" in features else "sapphirerapids"


@cache
def cpu_features() -> tuple[str, ...]:
    """LLVM's names of the CPU features that this machine has, sorted."""
    return tuple(sorted(name[1:] for name in llvm_features().split(",") if name[:1] == "+"))


def llvm_features() -> str:
    """The features of this CPU as LLVM wants them, those it lacks included: a CPU's name alone
    would imply them.
    """
    return _stated()[1]


@cache
def _stated() -> tuple[str, str]:
    """LLVM's name of this CPU, and its features. They are kept on disk by what they follow from,
    since loading LLVM takes a hundred megabytes.
    """
    asked = answers()
    store, key = disk_cache.shared(), repr(("host", installed("llvmlite"), asked))
    found = store.get(key) if asked else None
    if found is not None:
        name, _, features = found.decode().partition("\n")
        return name, features
    name, features = _asked_of_llvm()
    if asked:
        store.put(key, f"{name}\n{features}".encode())
    return name, features


def _asked_of_llvm() -> tuple[str, str]:
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XTILEDATA = 18


@cache
def tiles_permitted() -> bool:
    """True if the system lets this process use tiles (AMX), which it is asked here, once: a signal
    in the midst of them takes more stack.

    Processes that this one forks may too; others ask for themselves. False where the processor has
    none, or on another system.
    Source: Linux, Documentation/arch/x86/xstate.rst.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64" or "amx-tile" not in cpu_features():
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    return bool(
        call(ctypes.c_long(_ARCH_PRCTL), ctypes.c_long(_ARCH_REQ_XCOMP_PERM), ctypes.c_long(_XTILEDATA)) == 0
    )


def cores() -> int:
    """CPUs this process may use: its affinity, and the quota of its control group where there is
    one.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _quota()))


def _quota() -> int:
    """CPUs' worth of time that the control group grants, rounded up; very many if it does not
    say.
    """
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return 1 << 20


@cache
def memory_bytes() -> int:
    """Physical memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@cache
def caches() -> tuple[int, ...]:
    """Bytes of each data cache that one core sees, nearest first; empty if the system does not
    say.
    """
    levels: dict[int, int] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, level, size = (
                (index / name).read_text(encoding="ascii").strip() for name in ("type", "level", "size")
            )
            if kind != "Instruction":
                levels[int(level)] = _bytes_of(size)
        except (OSError, ValueError):
            continue
    return tuple(levels[level] for level in sorted(levels))


def _bytes_of(size: str) -> int:
    """`512K` in bytes."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(size[:-1]) * units[size[-1]] if size[-1:] in units else int(size)
