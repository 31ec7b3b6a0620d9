"""Programs of several ranks on MPI."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.distributed.mpi_world import LIMIT, PROGRAMS, ROOT, launch, needs_mpi
from texpr.distributed.mpiexec import find_mpiexec, kind_of, superuser

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, 3])
def test_collectives(ranks: int):
    found = launch("collectives.py", ranks, "mpi")
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"{ranks} ranks agree\n"


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_training_of_ranks_is_one_process(ranks: int):
    found = launch("training.py", ranks, "mpi")
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"{ranks} ranks are one process\n"


STOPPED = "texpr launch: a rank (process "
ENDS = {
    "raise": (1, "ValueError: rank 1 fails"),
    "raise before MPI": (1, "ValueError: rank 1 fails early"),
    "end": (1, "allreduce: the program of rank 1 has ended"),
    "exit": (3, "rank 1 ends"),
    "hang": (1, "barrier: rank 1 did not come within 2 s"),
    "hang inside": (1, "an allreduce has not ended within 2 s\n    rank 1 does not answer\n"),
    "kill": (137, "signal"),
    "stop before MPI": (None, STOPPED),
    "stop inside": (1, "error[ranks]: an allreduce: rank 1 is stopped\n    rank 1 is process "),
    "stop": (1, "error[ranks]: allreduce: rank 1 is stopped\n    rank 1 is process "),
    "stop while others compute": (None, STOPPED),
}
"""How rank 1 ends: the status, and what is said. The status of a launcher that ends by a signal is not
that of all MPIs. Each third one is in `make test`: a rank that raises, exits, is killed, is stopped.
"""
SILENT = ("exit", "kill", "stop before MPI", "stop while others compute")
"""Nothing has raised an error."""


@pytest.mark.parametrize("how", ENDS)
def test_one_rank_that_fails_ends_all(how: str):
    """Else this waits until the limit of `launch`: the others would wait for half an hour."""
    status, said = ENDS[how]
    found = launch("failing.py", 2, how, "mpi")
    # Of a signal, Open MPI gives 128 + 9, and MPICH 9, which says so on the standard output.
    assert found.returncode in ((status, 9) if how == "kill" else (status or found.returncode,)), found.stderr
    assert found.returncode
    assert said in (found.stderr + found.stdout).replace("SIGNAL", "signal") and "went on" not in found.stdout
    assert how in SILENT or "Traceback (most recent call last):" in found.stderr


def test_an_error_ends_all_without_the_launcher():
    """`mpiexec python train.py`, without `-m mpi4py`: `dist.init()` sees to it."""
    mpiexec = find_mpiexec()
    ours = kind_of(mpiexec) == "Open MPI"
    options = ["--oversubscribe", *(["--allow-run-as-root"] if superuser() else [])] if ours else []
    command = [mpiexec, *options, "-n", "2", sys.executable]
    found = subprocess.run(
        [*command, str(PROGRAMS / "failing.py"), "raise", "mpi"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert found.returncode == 1 and "ValueError: rank 1 fails" in found.stderr


def test_restarts_go_on_from_the_last_checkpoint(tmp_path):
    found = launch("restarted.py", 2, str(tmp_path / "run"), options=("--restarts", "2"))
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["epochs 1 to 2", "epochs 3 to 4", "as if never stopped"]
    assert found.stderr.count("texpr launch: the program ended with status 1; restart 1 of 2") == 1


def test_layers_that_are_split_over_ranks_equal_the_whole_ones():
    found = launch(ROOT / "examples" / "split_layers.py", 2)
    assert found.returncode == 0, found.stdout + found.stderr
    first, second = found.stdout.splitlines()
    assert first.startswith("2 ranks, 20 steps: loss ")
    assert second.startswith("largest difference to the whole layers: ")
