"""Cores of ranks on one machine: how many threads each may use."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from texpr.distributed.communicator import Communicator
from texpr.runtime import host
from texpr.support.options import options, origin

Machine = tuple[str, Sequence[int], int]
"""The name of a machine, the CPUs that a rank may use there, and how many at once."""


def use_own_share(comm: Communicator) -> None:
    """Let this rank use its share of the cores, unless the user or a launcher has said how many."""
    if comm.size == 1:
        return
    share = share_of(comm.gather_object(_here()), comm.rank)
    if origin("threads") == "default":
        options(threads=share)


def share_of(machines: Sequence[Machine], rank: int) -> int:
    """Threads of a rank: one for each CPU that it has alone, a part of those that it shares; one
    at least.
    """
    name, cpus, most = machines[rank]
    beside = [theirs for machine, theirs, _ in machines if machine == name]
    share = sum(1 / sum(cpu in theirs for theirs in beside) for cpu in cpus)
    # A control group may grant fewer than there are, to all ranks of the machine together.
    limit = share if most >= len(cpus) else most / len(beside)
    return max(1, int(min(share, limit) + 1e-9))


def _here() -> Machine:
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = sorted(affinity(0)) if affinity is not None else list(range(os.cpu_count() or 1))
    return platform.node(), cpus, host.cores()
