"""Programs of several ranks, started as users start them. pytest itself knows no MPI: where one rank
fails it would hang.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 100
"""Seconds that a program may take; those that hang fail by it."""


def why_not() -> str:
    """The reason why no ranks can be started here; empty where they can."""
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    beside = Path(sys.executable).parent / "mpiexec"
    return "" if beside.exists() or shutil.which("mpiexec") else "there is no mpiexec"


needs_mpi = pytest.mark.skipif(bool(why_not()), reason=why_not())


def launch(
    program: str | Path, ranks: int = 2, *arguments: str, options: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of `programs/` on ranks that share the cores, and give what it said."""
    command = [sys.executable, "-m", "texpr", "launch", "-n", str(ranks), "--oversubscribe", "--allow-root"]
    return subprocess.run(
        [*command, *options, str(PROGRAMS / program), *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
