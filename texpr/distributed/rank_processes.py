"""Processes of ranks on this machine, and whether a signal has stopped one.

A rank that is stopped sends nothing, as one that computes for long. The kernel tells them apart:
`/proc/PID/stat` has the state of a process. On systems without it, nothing is known here.
Source: the manual page proc_pid_stat(5) of Linux.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_PROC = Path("/proc")
_STATES = {"T": "stopped", "Z": "ended", "X": "ended", "x": "ended"}
"""A process that a debugger holds has the state t: somebody looks at it, and it is waited for."""
_PARENT, _START = 1, 19
"""Places in the fields after the command: the process that has begun this one, and when."""
PERIOD = 1.0
"""Seconds between two looks."""
PATIENCE = 3.0
"""Seconds that a process is stopped before it counts: signals to all ranks reach some of them first."""


class RankProcess(NamedTuple):
    """A process as any process of its machine finds it.

    Attributes:
        machine: what is the same for processes that see each other; empty where they do not.
        host: the name of the machine.
        pid: the number of the process.
        started: in ticks since the start of the machine; numbers are used again, moments are not.
    """

    machine: str
    host: str
    pid: int
    started: str

    @property
    def state(self) -> str:
        """`stopped`, `ended`, or empty."""
        try:
            found = _fields(self.pid)
        except FileNotFoundError:
            return "ended"
        except (OSError, IndexError):
            return ""
        return _STATES.get(found[0], "") if found[_START] == self.started else "ended"

    def __str__(self) -> str:
        return f"process {self.pid} of {self.host}"


def own_process() -> RankProcess:
    """This process."""
    pid, host = os.getpid(), platform.node()
    try:
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
        space = os.readlink(_PROC / "self" / "ns" / "pid")  # containers number processes by themselves
        return RankProcess(f"{boot} {space}", host, pid, _fields(pid)[_START])
    except (OSError, IndexError):
        return RankProcess("", host, pid, "")


def beside(processes: Sequence[RankProcess], rank: int) -> dict[int, RankProcess]:
    """The processes of other ranks that this rank can see."""
    machine = processes[rank].machine
    return {k: p for k, p in enumerate(processes) if machine and k != rank and p.machine == machine}


def processes_below(parent: int, command: Sequence[str]) -> list[RankProcess]:
    """The processes that a process has begun, itself or by others, and whose command begins so. What
    they have begun in turn is not looked at.
    """
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdecimal():
            try:
                children.setdefault(int(_fields(int(entry.name))[_PARENT]), []).append(int(entry.name))
            except (OSError, IndexError, ValueError):
                pass
    start, found, ahead = b"".join(os.fsencode(word) + b"\0" for word in command), [], [parent]
    while ahead:
        for pid in sorted(children.get(ahead.pop(), ())):
            try:
                is_one = (_PROC / str(pid) / "cmdline").read_bytes().startswith(start)
                if is_one:
                    found.append(RankProcess("", platform.node(), pid, _fields(pid)[_START]))
                else:
                    ahead.append(pid)
            except (OSError, IndexError):
                pass
    return found


def _fields(pid: int) -> list[str]:
    """The fields of a process after its command, which may have any letters."""
    return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()


class Watch:
    """Looks at processes once in a while.

    Args:
        processes: by rank.
        patience: seconds that one is stopped, or has ended, before it counts.
    """

    def __init__(self, processes: Mapping[int, RankProcess], patience: float = PATIENCE) -> None:
        self._processes, self._patience = processes, patience
        self._since: dict[int, float] = {}
        self._looked = monotonic()

    def look(self) -> dict[int, str]:
        """The states of ranks that have been stopped, or ended, for a while. It may be called
        often.
        """
        now = monotonic()
        if now - self._looked < PERIOD:
            return {}
        if now - self._looked > self._patience:  # this process was stopped too, and all go on now
            self._since = {}
        self._looked = now
        states = {rank: process.state for rank, process in self._processes.items()}
        self._since = {rank: self._since.get(rank, now) for rank, state in states.items() if state}
        return {rank: states[rank] for rank, since in self._since.items() if now - since >= self._patience}
