"""Attributes that are computed once, whoever asks."""

from __future__ import annotations

import threading

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
