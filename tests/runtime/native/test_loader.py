"""Object code becomes an address, or an error."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.runtime import kernels
from texpr.runtime.native import jit, native_library
from texpr.runtime.native.loader import load
from texpr.support.errors import CompileError

ANSWER = "define i32 @answer() {{ ret i32 {} }}"
UNKNOWN = (
    "declare i32 @there_is_no_such_function()\ndefine i32 @f() {\n %r = call i32 "
    "@there_is_no_such_function()\n ret i32 %r\n}"
)


def answer(loaded):
    return ctypes.CFUNCTYPE(ctypes.c_int)(loaded.address)()


def test_functions_of_one_name():
    loaded = [load(jit.compile_text(ANSWER.format(k)), "answer") for k in range(3)]
    assert [answer(each) for each in loaded] == [0, 1, 2]
    del loaded[1]
    gc.collect()
    assert [answer(each) for each in loaded] == [0, 2]


def test_native_symbols_are_known():
    text = (
        kernels.POLLING
        + """
define ptr @get() { ret ptr @tx_interrupted }
define ptr @parallel() { ret ptr @tx_parallel }
"""
    )
    code = jit.compile_text(text)
    for name, symbol in (("get", "tx_interrupted"), ("parallel", "tx_parallel")):
        loaded = load(code, name)
        assert ctypes.CFUNCTYPE(ctypes.c_void_p)(loaded.address)() == native_library.symbols()[symbol]


@pytest.mark.parametrize(
    "code, symbol",
    [
        (b"", "f"),
        (b"not object code at all" * 100, "f"),
        (jit.compile_text(ANSWER.format(1))[:200], "answer"),
        (jit.compile_text(ANSWER.format(1)), "question"),
        (jit.compile_text(UNKNOWN), "f"),
    ],
    ids=["empty", "text", "cut", "no symbol", "unknown symbol"],
)
def test_bad_code_is_refused(code, symbol):
    with pytest.raises(CompileError) as error:
        load(code, symbol)
    assert str(error.value).startswith("the object code does not link: ")
    assert answer(load(jit.compile_text(ANSWER.format(7)), "answer")) == 7


def test_threads_compile_and_load_at_once():
    def work(k):
        return answer(load(jit.compile_text(ANSWER.format(k)), "answer"))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == list(range(40))


def test_a_fork_while_another_thread_compiles():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            jit.compile_text(native_library.text())
            time.sleep(0.002)  # a lock is not fair: give others a turn

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for delay in (0.01, 0.03):
            time.sleep(delay)
            child = os.fork()
            if child == 0:
                ok = answer(load(jit.compile_text(ANSWER.format(5)), "answer")) == 5
                os._exit(0 if ok else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        worker.join()
