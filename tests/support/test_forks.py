"""Locks over a fork."""

from __future__ import annotations

import os
import threading
import time

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
