"""The start of a program of several processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from texpr.distributed.communicator import HALF_AN_HOUR, Communicator, seconds
from texpr.distributed.core_shares import use_own_share
from texpr.distributed.elsewhere_names import BACKENDS
from texpr.distributed.gloo_communicator import GlooCommunicator
from texpr.distributed.mpi_communicator import MPICommunicator
from texpr.distributed.rank_checks import DistributedError
from texpr.support.errors import CallError

_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS")
"""Variables that an MPI launcher gives its processes: Open MPI, PMIx (Slurm), Hydra (MPICH, Intel)."""
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables that say how many processes were started: Open MPI, Hydra, Slurm."""
_current: Communicator | None = None


def init(backend: Any = None, *, timeout: float | None = None) -> Communicator:
    """The communicator of this program: MPI's where a launcher of MPI has started it, else a world
    of one, without an import of MPI.

    Later calls without a backend give the same communicator. Where ranks are several, an error that
    nobody catches ends all of them, and each uses its share of the machine's cores, unless
    `TEXPR_THREADS` or `tx.options(threads=...)` says how many.

    Args:
        backend: "mpi" for MPI in any case; "gloo" for the ranks of torch.distributed; a
            communicator of mpi4py, a process group of torch, or a `Communicator` of one's own.
            None as above.
        timeout: seconds that a call waits for ranks that do not come, 1800 unless a call says
            otherwise. A later call changes it.
    Raises:
        MissingExtra: a launcher has started this program, and mpi4py is not installed; or torch is
            not.
        DistributedError: there is no MPI library, or it does not allow calls by threads, or it is
            another one than the launcher's, so that each rank is alone.
        CallError: there is no such backend.
    Example:
        >>> from texpr import distributed as dist
        >>> comm = dist.init()
        >>> comm.rank < comm.size
        True
    """
    global _current
    if backend is None and _current is not None:
        return _waiting(_current, timeout)
    _current = _made(backend, timeout)
    use_own_share(_current)
    return _current


def _waiting(comm: Communicator, timeout: float | None) -> Communicator:
    """The communicator, with the timeout that was given."""
    if timeout is not None:
        comm.timeout = seconds("dist.init", timeout)
    return comm


def _made(backend: Any, given: float | None) -> Communicator:
    if isinstance(backend, Communicator):
        return _waiting(backend, given)
    timeout = HALF_AN_HOUR if given is None else seconds("dist.init", given)
    if backend in (None, "mpi"):
        is_alone = backend is None and not _is_launched()
        return whole(Communicator(timeout) if is_alone else MPICommunicator(timeout=timeout), os.environ)
    if hasattr(type(backend), "Split_type") and hasattr(type(backend), "Allreduce"):
        return MPICommunicator(backend, timeout)
    if backend == "gloo" or (hasattr(backend, "rank") and type(backend).__module__.startswith("torch.")):
        return GlooCommunicator(None if backend == "gloo" else backend, timeout)
    name = str(backend).lower() if isinstance(backend, str) else ""
    raise CallError(
        f'dist.init: there is no backend {backend!r}, expected "mpi", "gloo" or a communicator',
        code="arguments",
        help=BACKENDS.get(name, ""),
    )


def _is_launched() -> bool:
    return "mpi4py.MPI" in sys.modules or any(name in os.environ for name in _LAUNCHED)


def whole(comm: Communicator, environment: Mapping[str, str]) -> Communicator:
    """The communicator, unless others were started of which it knows nothing: each of them would
    train alone, and write the same files.

    Raises:
        DistributedError: a launcher says that there are several processes, and this is a world of
            one.
    """
    started = max(int(n) if n.isdecimal() else 1 for n in (environment.get(name, "") for name in _SIZES))
    if comm.size == 1 and started > 1:
        raise DistributedError(
            f"{started} processes were started, and this one knows of no other",
            code="ranks",
            help="start them by the MPI that mpi4py uses: its own mpiexec, or `srun --mpi=pmix`; "
            "`srun --mpi=list` says what Slurm has",
        )
    return comm


def communicator(comm: Communicator | None = None, what: str = "comm") -> Communicator:
    """The communicator that was given, or that of the program.

    Raises:
        CallError: something else was given.
    """
    if comm is not None and not isinstance(comm, Communicator):
        raise CallError(
            f"{what} is of type {type(comm).__name__}, expected a dist.Communicator",
            code="arguments",
            help="comm = dist.init(); of mpi4py's or torch's, dist.init(theirs)",
        )
    return init() if comm is None else comm
