"""Programs of several ranks by torch's gloo, where torch is installed."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys

import pytest

from tests.distributed.mpi_world import LIMIT, PROGRAMS, ROOT
from texpr import distributed as dist

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def torchrun(program: str, ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of `programs/` on ranks that torch starts."""
    starter = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return subprocess.run(
        [*starter, str(PROGRAMS / program), *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=ENVIRONMENT,
    )


@needs_torch
@pytest.mark.parametrize("program, said", [("collectives", "agree"), ("training", "are one process")])
def test_programs_of_mpi_run_on_gloo(program: str, said: str):
    found = torchrun(f"{program}.py", 2, "gloo")
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"2 ranks {said}\n"


ENDS = {"raise": "ValueError: rank 1 fails", "hang": "barrier: rank 1 did not come within 2 s"}


@needs_torch
@pytest.mark.parametrize("how", ENDS)
def test_one_rank_that_fails_ends_all(how: str):
    found = torchrun("failing.py", 2, how, "gloo")
    assert found.returncode == 1 and ENDS[how] in found.stderr and "went on" not in found.stdout


@needs_torch
@pytest.mark.parametrize("how, what", [("stop", "allreduce"), ("stop inside", "an allreduce")])
def test_a_rank_that_is_stopped_ends_the_others(how: str, what: str):
    """By hand: torchrun itself waits half a minute for one that is stopped."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "1",
    }
    first, second = (
        subprocess.Popen(
            [sys.executable, str(PROGRAMS / "failing.py"), how, "gloo"],
            stderr=subprocess.PIPE,
            text=True,
            env={**ENVIRONMENT, **world, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    )
    try:
        said = first.communicate(timeout=LIMIT)[1].replace("[rank0]: ", "")
        assert first.returncode == 1 and "Traceback (most recent call last):" in said
        assert f"error[ranks]: {what}: rank 1 is stopped\n    rank 1 is process {second.pid} of " in said
    finally:
        for each in (first, second):
            each.kill()
            each.communicate()


def without_a_launcher() -> str:
    """What is said where nobody has started ranks."""
    with pytest.raises((dist.DistributedError, ImportError)) as error:
        dist.GlooCommunicator()
    return str(error.value)


def test_a_program_that_nobody_has_started_is_refused():
    assert without_a_launcher() == (
        'error[import]: dist.GlooCommunicator needs torch\n  help: pip install "texpr[torch]"'
        if importlib.util.find_spec("torch") is None
        else "error[ranks]: torch.distributed is not initialized, and torchrun has not started this program\n"
        "  help: torchrun --nproc-per-node 4 train.py, or call torch.distributed.init_process_group"
    )
