"""The start of a program of several processes."""

from __future__ import annotations

import os
import sys
from typing import Any

from texpr.distributed.communicator import Communicator
from texpr.distributed.core_shares import use_own_share
from texpr.distributed.mpi_communicator import MPICommunicator
from texpr.support.errors import CallError

_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS")
"""Variables that an MPI launcher gives its processes: Open MPI, PMIx (Slurm), Hydra (MPICH, Intel)."""
_NOT_THERE = {
    "nccl": "GPUs of several processes are not supported yet",
    "gloo": "write a Communicator over torch's group: its docstring says how",
    "elastic": "a world keeps its size; `texpr launch --restarts` goes on from the last checkpoint",
    "fsdp": "every rank holds all parameters",
    "grpc": "MPI is the only transport",
    "horovod": "MPI is the only transport",
    "ps": "there are no parameter servers; gradients are reduced over all ranks",
}
_current: Communicator | None = None


def init(backend: Any = None, *, timeout: float = 1800.0) -> Communicator:
    """The communicator of this program: MPI's where a launcher of MPI has started it, else a world
    of one, without an import of MPI.

    Later calls without a backend give the same communicator. Where ranks are several, an error that
    nobody catches ends all of them, and each uses its share of the machine's cores, unless
    `TEXPR_THREADS` or `tx.options(threads=...)` says how many.

    Args:
        backend: "mpi" for MPI in any case; a communicator of mpi4py, or a `Communicator` of one's
            own. None as above.
        timeout: seconds that a call waits for ranks that do not come.
    Raises:
        MissingExtra: a launcher has started this program, and mpi4py is not installed.
        DistributedError: there is no MPI library, or it does not allow calls by threads.
        CallError: there is no such backend.
    Example:
        >>> from texpr import distributed as dist
        >>> comm = dist.init()
        >>> comm.rank < comm.size
        True
    """
    global _current
    if backend is None and _current is not None:
        return _current
    _current = _made(backend, timeout)
    use_own_share(_current)
    return _current


def _made(backend: Any, timeout: float) -> Communicator:
    if isinstance(backend, Communicator):
        return backend
    if backend is None:
        return MPICommunicator(timeout=timeout) if _is_launched() else Communicator(timeout)
    if backend == "mpi":
        return MPICommunicator(timeout=timeout)
    if hasattr(backend, "Split_type") and hasattr(backend, "Allreduce"):
        return MPICommunicator(backend, timeout)
    name = str(backend).lower() if isinstance(backend, str) else ""
    raise CallError(
        f'dist.init: there is no backend {backend!r}, expected "mpi" or a communicator',
        code="arguments",
        help=_NOT_THERE.get(name, ""),
    )


def _is_launched() -> bool:
    return "mpi4py.MPI" in sys.modules or any(name in os.environ for name in _LAUNCHED)


def communicator(comm: Communicator | None = None) -> Communicator:
    """The communicator that was given, or that of the program."""
    return init() if comm is None else comm
