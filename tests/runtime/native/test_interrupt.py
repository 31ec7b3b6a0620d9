"""Ctrl-C in a running kernel. Each test is a script in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import os, signal, sys, threading, time
import numpy as np
from tests.runtime.kernels import slow
from texpr.runtime.native import native_library

FOREVER, X = np.int64(300_000_000), np.float32(2)   # about 30 s

def press(after, count=1):
    def work():
        started.acquire()
        for _ in range(count):
            time.sleep(after)
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
    pressed, started = [], threading.Semaphore(0)
    threading.Thread(target=work, daemon=True).start()
    started.release()  # the time counts from here on: on a busy machine a start takes as long
    return pressed

def delay(pressed):
    return time.perf_counter() - pressed[-1]  # of half a minute, if the kernel went on
"""


def run(script):
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": root, "TEXPR_THREADS": "2"},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


@pytest.mark.parametrize("symbol", ["slow", "slow_parallel"])
def test_a_kernel_stops_at_once_and_runs_again(symbol):
    run(f"""
kernel = slow({symbol!r})
for _ in range(3):
    pressed = press(0.1)
    try:
        kernel(FOREVER, X)
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        assert delay(pressed) < 10, delay(pressed)
assert kernel(np.int64(10), X) == 2
print("ok")
""")


def test_a_handler_that_does_not_raise_lets_the_kernel_finish():
    run("""
kernel = slow("slow_parallel")
count = []
signal.signal(signal.SIGINT, lambda *_: count.append(1))
while len(count) < 3:
    press(0.05)  # one at a time: signals that wait for the handler are one
    assert kernel(np.int64(2_000_000), X) == 2
print("ok")
""")


def test_a_handler_set_after_the_first_kernel_still_interrupts():
    run("""
kernel = slow()
kernel(np.int64(1), X)
def handler(*_):
    raise RuntimeError("mine")
signal.signal(signal.SIGINT, handler)
pressed = press(0.1)
try:
    kernel(FOREVER, X)
except RuntimeError as error:
    assert str(error) == "mine" and delay(pressed) < 10
    print("ok")
""")


def test_only_the_main_thread_is_interrupted():
    run("""
kernel = slow()
results = []
workers = [threading.Thread(target=lambda: results.append(float(kernel(np.int64(5_000_000), X)))) for _ in range(3)]
for worker in workers:
    worker.start()
pressed = press(0.1)
try:
    kernel(FOREVER, X)
except KeyboardInterrupt:
    assert delay(pressed) < 10, delay(pressed)
for worker in workers:
    worker.join()
assert results == [2.0] * 3, results
print("ok")
""")


def test_a_signal_while_only_other_threads_compute():
    run("""
kernel = slow()
results = []
worker = threading.Thread(target=lambda: results.append(float(kernel(np.int64(5_000_000), X))))
worker.start()
pressed = press(0.1)
try:
    time.sleep(10)
except KeyboardInterrupt:
    assert delay(pressed) < 10
worker.join()
assert results == [2.0]
assert kernel(np.int64(1), X) == 2
print("ok")
""")


def test_in_a_forked_child():
    run("""
kernel = slow("slow_parallel")
kernel(np.int64(1000), X)
child = os.fork()
if child == 0:
    pressed = press(0.1)
    try:
        kernel(FOREVER, X)
    except KeyboardInterrupt:
        os._exit(0 if delay(pressed) < 10 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("ok")
""")


def test_an_ignored_signal_stays_ignored():
    run("""
signal.signal(signal.SIGINT, signal.SIG_IGN)
kernel = slow()
press(0.05)
assert kernel(np.int64(3_000_000), X) == 2
print("ok")
""")


def test_many_signals_lose_nothing():
    run("""
kernel = slow("slow_parallel")
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
worker = threading.Thread(target=lambda: [kernel(np.int64(300_000), X) for _ in range(10)])
worker.start()
press(0.002, 100)
stop = time.perf_counter() + 1
while time.perf_counter() < stop:
    for _ in range(100):
        assert kernel(np.int64(10), X) == 2
worker.join()
assert seen
print("ok")
""")


def test_a_short_call_that_sees_the_flag_of_another_runs_again():
    run("""
import ctypes
kernel = slow(short_up_to=1)
assert kernel(np.int64(1), X) == 2
flag = ctypes.c_int32.from_address(native_library.symbols()["tx_interrupted"])
flag.value = 1
assert kernel(np.int64(1), X) == 2 and flag.value == 0
print("ok")
""")


def test_a_symbolic_kernel_is_short_where_sizes_are_small_and_else_interrupted():
    run("""
import texpr as tx
product = tx.op("op f(A: f32[N, N], B: f32[N, N]) -> C: f32[N, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }")
kernel = tx.schedule(product).compile()
assert kernel.native.built.duration == "interruptible" and 16 <= kernel.native.built.short_up_to <= 64, kernel.native.built
A = np.ones((4000, 4000), "f4")
assert (kernel(A[:8, :8], A[:8, :8]) == 8).all()
pressed = press(0.5)
try:
    kernel(A, A)
    sys.exit("not interrupted")
except KeyboardInterrupt:
    assert delay(pressed) < 10, delay(pressed)
print("ok")
""")
