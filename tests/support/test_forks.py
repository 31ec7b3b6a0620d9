"""Locks over a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from texpr.support.forks import held_over_forks


def test_locks_are_open_in_the_child_in_whatever_order_threads_take_them():
    locks = [held_over_forks(threading.RLock()) for _ in range(3)]
    stop, turns = threading.Event(), [0, 0]

    def work(k: int) -> None:
        first, second = (locks[0], locks[1]) if k else (locks[1], locks[2])
        while not stop.is_set():
            with first:
                time.sleep(0.001)
                with second:
                    turns[k] += 1
            time.sleep(0.001)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    try:
        for _ in range(10):
            with locks[0]:  # the thread that forks may hold some itself
                child = os.fork()
                if child == 0:
                    os._exit(sum(not lock.acquire(timeout=5) for lock in locks))
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            time.sleep(0.002)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert min(turns) > 0
    assert all(lock.acquire(blocking=False) for lock in locks)


WAIT = """
for _ in range(100):
    found, status = os.waitpid(child, os.WNOHANG)
    if found:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(child, 9)
sys.exit("the child waits for ever")
"""
"""The end of a script whose child may wait for ever."""

IMPORTS = """
import os, sys, threading, time
package = {package!r}
with open(os.path.join(package, "slow.py"), "w") as f:
    f.write("import time; print('begun', flush=True); time.sleep(0.5); whole = True")
import texpr
texpr.__path__.append(package)
def work():
    import texpr.slow
threading.Thread(target=work).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    import texpr.slow
    os._exit(0 if texpr.slow.whole else 1)
"""


def test_a_module_that_another_thread_imports_is_whole_in_the_child(tmp_path: Path):
    done = subprocess.run(
        # From Python 3.12 on, a fork beside other threads warns.
        [sys.executable, "-W", "ignore", "-c", IMPORTS.format(package=str(tmp_path)) + WAIT],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\n", "")


def test_a_fork_while_a_module_is_imported_by_the_same_thread(tmp_path: Path):
    (tmp_path / "forking.py").write_text(
        "import os, sys\nchild = os.fork()\nif child == 0:\n    os._exit(3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    script = f"import texpr; texpr.__path__.append({str(tmp_path)!r}); import texpr.forking"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 3


LATE = """
import os, sys, threading, time
sys.path.insert(0, {folder!r})
from texpr.support.late import late
slow = late("slow_module")
threading.Thread(target=lambda: slow.whole).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    os._exit(0 if slow.whole else 1)
"""


def test_a_module_of_others_that_is_imported_late_is_whole_in_the_child(tmp_path: Path):
    (tmp_path / "slow_module.py").write_text("import time; time.sleep(0.5); whole = True")
    done = subprocess.run(
        # From Python 3.12 on, a fork beside other threads warns.
        [sys.executable, "-W", "ignore", "-c", LATE.format(folder=str(tmp_path)) + WAIT],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
