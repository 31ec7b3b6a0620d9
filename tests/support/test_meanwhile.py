"""Work beside this thread: its result, its errors, and that nothing is left running."""

from __future__ import annotations

import threading

import pytest

from texpr.support import background
from texpr.support.background import Helper, Meanwhile
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


@pytest.mark.parametrize("threads", [1, 2])
def test_a_helper_does_jobs_in_order(threads):
    done, last = [], threading.Event()
    with options(threads=threads), Helper() as helper:
        jobs = [helper.begin(lambda k=k: done.append(k) or k * k) for k in range(20)]
        helper.begin(last.set)
        assert last.wait(10)
        assert done == list(range(20))
        assert [job.result() for job in jobs] == [k * k for k in range(20)]
    assert done == list(range(20))


def test_a_job_that_no_thread_has_begun_is_done_here():
    begun, free, names = threading.Event(), threading.Event(), []
    with Helper() as helper:
        helper.begin(lambda: begun.set() or free.wait(10))
        assert begun.wait(10)
        job = helper.begin(lambda: names.append(threading.current_thread().name))
        job.result()
        job.result()
        free.set()
    assert names == [threading.current_thread().name]


def test_a_helper_without_a_thread(monkeypatch):
    def fails(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(background, "start_new_thread", fails)
    with Helper() as helper:
        assert helper.begin(lambda: 7).result() == 7
        helper.begin(pytest.fail)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_errors_of_a_job_come_where_its_result_is_asked_for(kind):
    def fails() -> int:
        raise kind("no")

    with Helper() as helper:
        job = helper.begin(fails)
        with pytest.raises(kind, match="no"):
            job.result()


def test_jobs_that_were_dropped_are_not_begun():
    begun, free = threading.Event(), threading.Event()
    with Helper() as helper:
        first = helper.begin(lambda: begun.set() or free.wait(10))
        assert begun.wait(10)
        job = helper.begin(pytest.fail)
        job.drop()
        job.drop()
        threading.Timer(0.05, free.set).start()
        first.drop()
        assert free.is_set()


def test_no_job_goes_on_behind_the_block():
    begun, free = threading.Event(), threading.Event()
    with pytest.raises(KeyError), Helper() as helper:
        helper.begin(lambda: begun.set() or free.wait(10))
        helper.begin(pytest.fail)
        assert begun.wait(10)
        threading.Timer(0.05, free.set).start()
        raise KeyError
    assert free.is_set()
