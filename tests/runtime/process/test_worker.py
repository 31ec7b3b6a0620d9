"""Functions in another process: results come back, and whatever happens there becomes an error
here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from texpr.runtime.process import worker
from texpr.runtime.process.worker import run_in_child, stop_children
from texpr.support.errors import CompileError, ScheduleError


def run(name, *arguments, **rest):
    return run_in_child(f"tests.runtime.process.child_functions:{name}", *arguments, **rest)


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"


def wait_until_gone(process):
    deadline = time.monotonic() + 5
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_values_and_bytes_come_back():
    values = [1, 2.5, None, True, "text \u20ac \ud800", b"\x00\xff" * 200_000, ["a", [b"b", {"c": b"d"}]], {}]
    assert run("echo", *values) == values


def test_a_worker_is_used_again_and_ends_on_request():
    process = run("process")
    assert run("process") == process != os.getpid()
    stop_children()
    wait_until_gone(process)


def test_the_function_refuses():
    with pytest.raises(ScheduleError) as error:
        run("refuse")
    assert str(error.value) == "error[loop]: no such loop\n    one\n    two\n  help: look again"


def test_a_bug_is_a_bug():
    with pytest.raises(
        AssertionError,
        match="(?s)tests.runtime.process.child_functions:stumble failed in a child "
        "process:.*ZeroDivisionError",
    ):
        run("stumble")


def test_an_abort_of_llvm():
    with pytest.raises(CompileError) as error:
        run("abort_in_llvm")
    assert str(error.value).startswith("the child process was ended by SIGABRT: LLVM ERROR: ")
    assert run("echo", 1) == [1]


def test_an_exit():
    with pytest.raises(CompileError) as error:
        run("leave", 3)
    assert str(error.value) == "the child process exited with status 3: the end is near"


def test_a_hang():
    process = run("process")
    with pytest.raises(CompileError) as error:
        run("sleep", 600, timeout=0.3)
    assert str(error.value) == "the child process was stopped after 0.3 s"
    wait_until_gone(process)


def test_a_worker_that_died_meanwhile():
    process = run("process")
    os.kill(process, signal.SIGKILL)
    time.sleep(0.1)
    assert run("echo", 2) == [2]


def test_a_worker_without_requests_ends():
    process = run("shorten_idle_time", 0.05)
    (idle,) = (each for each in worker._idle if each.process.pid == process)
    assert idle.process.wait(5) == 0
    assert run("process") != process


def test_a_worker_that_is_about_to_end_is_not_asked(monkeypatch):
    process = run("process")
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.0)
    assert run("process") != process and not alive(process)


def test_threads_at_once():
    results = [None] * 4

    def work(index):
        results[index] = run("echo", index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0], [1], [2], [3]]


def test_a_forked_process_starts_its_own():
    process = run("process")
    child = os.fork()
    if child == 0:
        other = run("process")
        stop_children()
        os._exit(0 if other not in (process, os.getpid()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run("process") == process


SCRIPT = """
from texpr.runtime.process.worker import run_in_child
print(run_in_child("tests.runtime.process.child_functions:process"), flush=True)
run_in_child("tests.runtime.process.child_functions:sleep", 60)
"""


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, -signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_orphans(number, status):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.send_signal(number)
    parent.communicate(timeout=10)
    assert parent.returncode == status
    wait_until_gone(worker)
