"""Processes that a signal has stopped, as other ranks and the launcher see them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.distributed.thread_world import run_ranks
from texpr.distributed import rank_processes
from texpr.distributed.rank_processes import RankProcess, Watch, beside, own_process, processes_below
from texpr.tools import rank_watch

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no /proc")

PAUSE = [sys.executable, "-c", "import time; time.sleep(60)"]
TRACED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).ptrace(0, 0, None, None)  # PTRACE_TRACEME: its parent is its debugger
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def begun():
    """Begin processes, which are killed at the end."""
    made: list[subprocess.Popen] = []

    def begin(*command: str) -> subprocess.Popen:
        made.append(subprocess.Popen(command))
        return made[-1]

    yield begin
    for each in made:
        each.kill()
        each.wait()


def of(process: subprocess.Popen) -> RankProcess:
    """The process as a rank says it of itself."""
    own = own_process()
    return RankProcess(own.machine, own.host, process.pid, rank_processes._fields(process.pid)[19])


def comes(wanted, get, seconds: float = 20.0) -> bool:
    """True once a function gives this."""
    end = time.monotonic() + seconds
    while get() != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return get() == wanted


@pytest.mark.parametrize("name", ["", "a) T 1 (b"])
def test_states(begun, tmp_path, name):
    """Also of a command whose name looks like the fields behind it."""
    program = tmp_path / f"{name}x"
    program.symlink_to("/bin/sleep")
    child = begun(*([str(program), "60"] if name else PAUSE))
    process = of(child)
    assert process.state == ""
    child.send_signal(signal.SIGSTOP)
    assert comes("stopped", lambda: process.state)
    child.send_signal(signal.SIGCONT)
    assert comes("", lambda: process.state)
    child.kill()
    assert comes("ended", lambda: process.state)  # a zombie
    child.wait()
    assert process.state == "ended"


def test_a_number_that_another_process_has():
    assert own_process().state == "" and own_process()._replace(started="1").state == "ended"


def test_a_debugger_is_waited_for(begun):
    child = begun(sys.executable, "-c", TRACED)
    process = of(child)
    if not comes("t", lambda: rank_processes._fields(child.pid)[0], 5):
        pytest.skip("the system lets nobody trace")
    assert process.state == ""


def test_ranks_of_other_machines_are_not_looked_at():
    here, there, unknown = (RankProcess(m, "a", 1, "5") for m in ("boot pid:1", "boot pid:2", ""))
    assert beside([here, there, here, unknown], 0) == {2: here}
    assert beside([here, unknown, unknown], 1) == {}


@pytest.fixture
def clock(monkeypatch):
    """The time as `Watch` reads it."""
    now = [100.0]
    monkeypatch.setattr(rank_processes, "monotonic", lambda: now[0])
    return now


class Fake:
    """A process whose state is said."""

    state = ""


def test_a_short_stop_is_none(clock):
    one, other = Fake(), Fake()
    watch, seen = Watch({1: one, 2: other}), []
    for state in ("", "stopped", "stopped", "", "stopped", "stopped", "stopped", "stopped"):
        clock[0] += 1
        other.state = state
        seen.append(watch.look())
    assert seen == [{}] * 7 + [{2: "stopped"}]


def test_who_was_stopped_too_looks_again(clock):
    """All ranks go on together, and one of them looks first."""
    one = Fake()
    watch, one.state = Watch({1: one}), "stopped"
    for step, found in ((1, {}), (1, {}), (1, {}), (60, {}), (1, {}), (1, {}), (1, {1: "stopped"})):
        clock[0] += step
        assert watch.look() == found


@pytest.mark.parametrize(
    "state, said",
    [
        (
            "stopped",
            "error[ranks]: an allgather: rank 1 is stopped\n"
            "    rank 1 is process 7 of node4\n"
            "  help: a signal has stopped it (SIGSTOP, SIGTSTP), and the others do not wait for it: to hold a "
            "program, stop all its ranks; a rank that a debugger holds is waited for",
        ),
        (
            "ended",
            "error[ranks]: an allgather: the program of rank 1 has ended\n"
            "  help: let all ranks make equally many calls: they have batches of another number, or one left "
            "early",
        ),
    ],
)
def test_a_wait_for_a_stopped_rank_ends(monkeypatch, state, said):
    monkeypatch.setattr("texpr.distributed.communication_thread.PERIOD", 0.01)
    monkeypatch.setattr(rank_processes, "PERIOD", 0.01)
    monkeypatch.setattr(rank_processes, "PATIENCE", 0.05)
    monkeypatch.setattr(RankProcess, "state", property(lambda _: state))

    def call(comm):
        comm._beside = {1: RankProcess("m", "node4", 7, "1")}
        comm.watch = lambda: Watch(comm._beside, 0.05)
        if comm.rank == 1:
            return comm.agree("allgather of f64[]", 1)
        return comm.allgather(1.0)

    found, _ = run_ranks(2, call, timeout=5)
    assert str(found) == said and found.ranks == (1,)


@pytest.fixture
def launched(begun, monkeypatch):
    """A launcher with two ranks, and the watch over them."""
    monkeypatch.setattr(rank_processes, "PERIOD", 0.02)
    monkeypatch.setattr(rank_watch, "PERIOD", 0.02)
    monkeypatch.setattr(rank_watch, "PATIENCE", 0.2)
    word = " ".join(f"'{each}'" for each in PAUSE)
    launcher = begun("/bin/sh", "-c", f"{word} & ({word} & wait) & wait")
    assert comes(2, lambda: len(processes_below(launcher.pid, PAUSE[:2])))
    ranks = processes_below(launcher.pid, PAUSE[:2])
    watch = rank_watch.RankWatch(launcher, 2, PAUSE[:2])
    watch.start()
    yield launcher, [each.pid for each in ranks], watch
    for each in ranks:
        os.kill(each.pid, signal.SIGKILL)


def test_the_launcher_ends_where_a_rank_is_stopped(launched):
    launcher, (first, _), watch = launched
    os.kill(first, signal.SIGSTOP)
    assert launcher.wait(20) == -signal.SIGTERM
    watch.end()
    watch.join(20)
    assert watch.stopped == [f"process {first} of {own_process().host}"]


def test_ranks_that_are_all_stopped_are_held(launched):
    launcher, ranks, watch = launched
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.6)
    assert launcher.poll() is None and watch.is_alive() and not watch.stopped
    watch.end()
