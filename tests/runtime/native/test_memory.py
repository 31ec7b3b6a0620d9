"""Scratch memory: aligned, disjoint, refused when absurd."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from texpr.runtime import host
from texpr.runtime.native import native_library


def functions():
    """`tx_alloc` and `tx_free`."""
    symbols = native_library.symbols()
    alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(symbols["tx_alloc"])
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbols["tx_free"])
    return alloc, free


@pytest.fixture(scope="module")
def memory():
    return functions()


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 4096, 65_535, 65_536, 1_000_000, 5_000_000, 64 << 20])
def test_blocks_are_aligned_and_whole(memory, size):
    alloc, free = memory
    first, second = alloc(size), alloc(size)
    assert first % 64 == second % 64 == 0
    assert abs(first - second) >= size
    for address, byte in ((first, 1), (second, 2)):
        ctypes.memset(address, byte, size)
    assert ctypes.string_at(first, size) == b"\1" * size
    free(first)
    free(second)


def run(script: str) -> None:
    """In a process of its own: no blocks of other tests wait there."""
    root = str(Path(__file__).parents[3])
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"from tests.runtime.native.test_memory import functions\nalloc, free = functions()\n{script}",
        ],
        env={**os.environ, "PYTHONPATH": root},
        check=True,
        timeout=60,
    )


def test_a_freed_large_block_is_used_again():
    run("""
block = alloc(3_000_000)
free(block)
assert alloc(2_900_000) == block
""")


def test_a_much_smaller_request_does_not_take_a_large_block():
    run("""
block = alloc(3_000_000)
free(block)
assert alloc(100_000) != block
""")


OWN_FIRST = """
import threading
for size in (8_000, 300_000):
    mine, others = alloc(size), alloc(size)
    free(mine)
    thread = threading.Thread(target=free, args=(others,))
    thread.start()
    thread.join()
    assert [alloc(size), alloc(size)] == [mine, others], "another thread's only where there is no other one"
"""


def test_a_thread_gets_back_what_it_freed_itself():
    """Lines that others have changed last would come from their caches."""
    run(OWN_FIRST)


@pytest.mark.parametrize("size", [-1, -(1 << 63), 1 << 62, 1 << 47])
def test_absurd_sizes_give_null(memory, size):
    alloc, _ = memory
    assert alloc(size) is None
    assert alloc(host.memory_bytes() + 1) is None


def test_freeing_null_does_nothing(memory):
    memory[1](None)


def test_more_blocks_than_the_table_holds(memory):
    alloc, free = memory
    blocks = [alloc(70_000 + 64 * i) for i in range(100)]
    assert len(set(blocks)) == 100
    for block in blocks:
        free(block)


@pytest.mark.parametrize("size", [65_536, 1_000_000, 4_194_304, 64 << 20])
def test_large_blocks_do_not_alias_arrays_that_begin_with_a_page(memory, size):
    """What is stored there and loaded from NumPy's large arrays, which stand 16 bytes behind a
    page's start, has other low address bits.
    """
    alloc, free = memory
    block = alloc(size)
    ctypes.memset(block, 3, size)
    assert block % 4096 == 2048 + 64
    free(block)
