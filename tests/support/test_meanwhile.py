"""Work beside this thread: its result, its errors, and that nothing is left running."""

from __future__ import annotations

import threading

import pytest

from texpr.support.background import Meanwhile
from texpr.support.options import current, options


@pytest.mark.parametrize("threads", [1, 2])
def test_it_gives_what_the_function_gives_once(threads):
    ran = []
    with options(threads=threads), Meanwhile(lambda: ran.append(current().threads) or len(ran)) as result:
        assert result() == result() == 1
    assert ran == [threads]  # what holds here holds there


def test_it_goes_on_while_the_block_runs():
    begun, seen = threading.Event(), threading.Event()
    with options(threads=2), Meanwhile(lambda: begun.set() or seen.wait(10)) as result:
        assert begun.wait(10)
        seen.set()
        assert result()


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_come_where_the_result_is_asked_for(threads):
    def fails() -> int:
        raise ValueError("no")

    with options(threads=threads), Meanwhile(fails) as result:
        with pytest.raises(ValueError, match="no"):
            result()


def test_a_block_that_raises_waits_for_the_work():
    done = threading.Event()
    with (
        pytest.raises(KeyError),
        options(threads=2),
        Meanwhile(lambda: threading.Event().wait(0.05) or done.set()),
    ):
        raise KeyError
    assert done.is_set()


def test_alone():
    with options(threads=2):
        assert Meanwhile(lambda: 3).alone() == 3


def test_where_the_system_gives_no_thread_the_work_is_done_here(monkeypatch):
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with options(threads=2), Meanwhile(threading.get_ident) as result:
        assert result() == threading.get_ident()


def test_ctrl_c_while_it_is_waited_for_waits_on():
    done = threading.Event()
    with (
        options(threads=2),
        pytest.raises(KeyboardInterrupt),
        Meanwhile(lambda: threading.Event().wait(0.1) or done.set()) as work,
    ):
        join, interrupted = work._thread.join, []

        def interrupting() -> None:
            if not interrupted:
                interrupted.append(1)
                raise KeyboardInterrupt
            join()

        work._thread.join = interrupting
        work()
    assert done.is_set()
