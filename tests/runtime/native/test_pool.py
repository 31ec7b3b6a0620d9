"""The pool covers a range exactly once, whoever runs it."""

from __future__ import annotations

import ctypes
import os
import threading
import time

import numpy as np
import pytest

from tests.runtime.kernels import link
from texpr.runtime.native import native_library
from texpr.support.errors import CallError

COUNT = """
define void @count(ptr %counts, i64 %lo, i64 %hi) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %counts, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %out
out:
  ret void
}

; Every iteration runs a parallel loop of its own over a row of 100.
define void @rows(ptr %counts, i64 %lo, i64 %hi) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %offset = mul i64 %i, 100
  %row = getelementptr i32, ptr %counts, i64 %offset
  call void @tx_parallel(ptr @count, ptr %row, i64 100)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %out
out:
  ret void
}

define void @run(ptr %counts, i64 %n, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @tx_parallel(ptr @count, ptr %counts, i64 %n)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %out
out:
  ret void
}

define void @nested(ptr %counts, i64 %n, i64 %times) {
  call void @tx_parallel(ptr @rows, ptr %counts, i64 %n)
  ret void
}
"""


@pytest.fixture(scope="module")
def code():
    return link(COUNT, "run", "nested")


def call(code, name, counts, n, times=1):
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code[name])(
        counts.ctypes.data, n, times
    )


@pytest.fixture
def pool():
    before = native_library.threads()
    yield native_library.set_threads
    native_library.set_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 2])
def test_every_iteration_runs_once(code, pool, threads):
    pool(threads)
    for n in (0, 1, 2, 3, 7, 16, 17, 100, 1023, 100_003):
        counts = np.zeros(max(n, 1) + 8, np.int32)
        call(code, "run", counts, n, times=3)
        assert (counts[:n] == 3).all() and not counts[n:].any()


def test_a_nested_region_runs_its_range(code, pool):
    pool(3)
    counts = np.zeros((50, 100), np.int32)
    call(code, "nested", counts, 50)
    assert (counts == 1).all()


def test_many_regions_with_pauses(code, pool):
    pool(3)
    counts = np.zeros(64, np.int32)
    for pause in (0, 0.00005, 0.0002, 0.003) * 10:
        time.sleep(pause)
        call(code, "run", counts, 64, times=50)
    assert (counts == 2000).all()


def test_several_python_threads_at_once(code, pool):
    pool(3)
    results = [np.zeros(1000, np.int32) for _ in range(8)]
    workers = [threading.Thread(target=call, args=(code, "run", counts, 1000, 200)) for counts in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((counts == 200).all() for counts in results)


def test_the_number_of_threads_may_change_between_regions(code, pool):
    counts = np.zeros(500, np.int32)
    for threads in (1, 4, 2, 6, 1, 3) * 20:
        pool(threads)
        call(code, "run", counts, 500)
    assert (counts == 120).all()


def test_a_forked_child_gets_its_own_pool(code, pool):
    pool(2)
    counts = np.zeros(1000, np.int32)
    call(code, "run", counts, 1000)
    child = os.fork()
    if child == 0:
        call(code, "run", counts, 1000, times=4)
        os._exit(0 if (counts == 5).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_caller_keeps_its_affinity(code, pool):
    before = os.sched_getaffinity(0)
    pool(2)
    time.sleep(0.01)
    call(code, "run", np.zeros(64, np.int32), 64)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("count", [0, -1, 257])
def test_impossible_numbers_of_threads_are_refused(count):
    with pytest.raises(CallError) as error:
        native_library.set_threads(count)
    assert str(error.value) == f"{count} threads; expected 1 to 256"


def test_no_range_is_left_out_after_a_signal(code, pool):
    flag = ctypes.c_int32.from_address(native_library.symbols()["tx_interrupted"])
    pool(2)
    counts = np.zeros(100, np.int32)
    flag.value = 1
    try:
        call(code, "run", counts, 100)
    finally:
        flag.value = 0
    assert (counts == 1).all()
