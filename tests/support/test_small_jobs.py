"""Small jobs of a thread beside this one: their order, results and errors, and that nothing is left."""

from __future__ import annotations

import threading

import pytest

from texpr.support import background
from texpr.support.background import Helper
from texpr.support.options import options


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
