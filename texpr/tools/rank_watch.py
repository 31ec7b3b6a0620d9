"""Ranks that a signal has stopped, as the launcher sees them: the others may compute for long before
they wait for one.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence

from texpr.distributed.rank_processes import PERIOD, Watch, processes_below

PATIENCE = 5.0
"""Seconds that a rank is stopped before its launcher ends all: ranks that wait for it see it sooner,
and have a traceback.
"""
_OFTEN = 60
"""Looks that search for ranks, and after how many looks another one does."""
_GRACE = 10.0
"""Seconds that `mpiexec` has to end its ranks."""


class RankWatch(threading.Thread):
    """Ends `mpiexec` where some of its ranks are stopped, and not all of them.

    Args:
        child: `mpiexec`.
        ranks: how many it starts on this machine.
        command: the beginning of theirs.
    Attributes:
        stopped: what the processes are of ranks that were stopped; empty as long as all is well.
    """

    def __init__(self, child: subprocess.Popen[bytes], ranks: int, command: Sequence[str]) -> None:
        super().__init__(name="texpr-rank-watch", daemon=True)
        self._child, self._ranks, self._command = child, ranks, command
        self._over = threading.Event()
        self.stopped: list[str] = []

    def run(self) -> None:
        """Look once a second, until `end` is called."""
        processes = processes_below(self._child.pid, self._command)
        watch = Watch(dict(enumerate(processes)), PATIENCE)
        looks = 0
        while not self._over.wait(PERIOD):
            looks += 1
            # Ranks that are on other machines are never found, and a search reads all processes.
            if len(processes) < self._ranks and (looks <= _OFTEN or looks % _OFTEN == 0):
                found = processes_below(self._child.pid, self._command)
                if found != processes:
                    processes, watch = found, Watch(dict(enumerate(found)), PATIENCE)
            held = [k for k, state in watch.look().items() if state == "stopped"]
            if held and not all(process.state for process in processes):
                self.stopped = [str(processes[k]) for k in held]
                self._end_all()
                return

    def _end_all(self) -> None:
        self._child.terminate()
        if not self._over.wait(_GRACE):
            self._child.kill()

    def end(self) -> None:
        """The child has ended."""
        self._over.set()
