"""Attributes that are computed once, whoever asks."""

from __future__ import annotations

import re
import subprocess
import sys
import threading

from tests.repo.source import ROOT
from texpr.support.once import once


class Slow:
    def __init__(self, threads: int) -> None:
        self.meet = threading.Barrier(threads)

    @once
    def made(self) -> object:
        """Something new."""
        self.meet.wait()
        return object()


def test_it_is_computed_when_it_is_asked_for():
    slow = Slow(1)
    assert "made" not in slow.__dict__
    assert (
        slow.made is slow.made is slow.__dict__["made"] and Slow.__dict__["made"].__doc__ == "Something new."
    )


def test_a_class_shows_how_it_is_computed():
    """So what fails by itself is told apart from a name that is not there."""
    assert isinstance(Slow.made, once) and hasattr(Slow, "made")


def test_threads_get_the_same():
    """All of them compute it: each waits for the others there."""
    slow, found = Slow(4), []
    threads = [threading.Thread(target=lambda: found.append(slow.made)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and set(map(id, found)) == {id(slow.made)}


def test_nothing_has_a_lock_that_forks_copy():
    """`functools.cached_property` has one in Python 3.11."""
    sources = (ROOT / "texpr").rglob("*.py")
    found = [
        p for p in sources if re.search(r"@(functools\.)?cached_property", p.read_text(encoding="utf-8"))
    ]
    assert not found, "use texpr.support.once"


FORKS = """
import os, signal, sys, threading, time
from texpr.support.once import once

class Slow:
    @once
    def made(self):
        time.sleep(0.5)
        return 1

threading.Thread(target=lambda: Slow().made).start()
time.sleep(0.1)
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(Slow().made - 1)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_child_of_a_fork_does_not_wait_for_threads_it_does_not_have():
    assert subprocess.run([sys.executable, "-c", FORKS], cwd=ROOT, check=False, timeout=60).returncode == 0
