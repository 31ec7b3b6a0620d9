"""Memory of tensors that stay."""

from __future__ import annotations

import gc
import mmap
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.runtime import slabs
from texpr.runtime.slabs import ALIGNMENT, LEAST, MOST, PAGE, SLAB, block, in_lines


def start(array: np.ndarray) -> int:
    return array.ctypes.data


SIZES = st.one_of(
    st.integers(1, 300), st.integers(LEAST - 2, LEAST + 2), st.integers(LEAST, MOST), st.just(MOST + 1)
)


@given(st.lists(SIZES, max_size=12))
def test_blocks_begin_at_lines_and_share_no_byte(sizes: list[int]):
    blocks = [block(size) for size in sizes]
    assert [b.nbytes for b in blocks] == sizes and all(
        start(b) % ALIGNMENT == 0 and b.flags.writeable for b in blocks
    )
    ends = sorted((start(b), start(b) + b.nbytes) for b in blocks)
    assert all(hi <= lo for (_, hi), (lo, _) in zip(ends, ends[1:]))


def test_blocks_of_middle_size_lie_in_large_pages_together():
    """As many as fill three slabs: no more than one page is begun by one of them and not by its
    slab.
    """
    blocks = [block(LEAST) for _ in range(3 * SLAB // LEAST)]
    pages = {(start(b) + at) // PAGE for b in blocks for at in (0, LEAST - 1)}
    assert len(pages) <= 3 * SLAB // PAGE + 1


def test_a_slab_is_freed_with_the_last_of_its_blocks():
    block(MOST), block(MOST), block(MOST)  # whatever was begun before is used up
    blocks = [block(MOST) for _ in range(2)]
    wholes = [weakref.ref(b.base) for b in blocks]
    kept = blocks.pop()[:1]
    del blocks
    block(MOST), block(MOST), block(MOST)
    gc.collect()
    assert wholes[1]() is not None and kept.size
    del kept
    gc.collect()
    assert [w() for w in wholes] == [None, None]


def test_a_block_is_asked_for_while_another_one_is_cut(monkeypatch):
    """As a signal handler or a finalizer does, in the same thread."""
    inner: list[np.ndarray] = []
    new = slabs._alone

    def interrupted(size: int, alignment: int, wanted: int) -> np.ndarray:
        if not inner:
            inner.append(np.empty(0))
            inner[0] = block(LEAST)
        return new(size, alignment, wanted)

    monkeypatch.setattr(slabs, "_alone", interrupted)
    blocks: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: blocks.extend([block(MOST) for _ in range(3)]), daemon=True)
    thread.start()
    thread.join(60)
    assert len(blocks) == 3 and not any(np.shares_memory(inner[0], b) for b in blocks)


def test_threads_cut_blocks_of_their_own():
    with ThreadPoolExecutor(6) as pool:
        blocks = list(pool.map(block, [LEAST + 64 * (k % 50) for k in range(600)]))
    ends = sorted((start(b), start(b) + b.nbytes) for b in blocks)
    assert all(hi <= lo for (_, hi), (lo, _) in zip(ends, ends[1:]))


def test_copies_begin_at_lines():
    value = np.arange(60_000, dtype=np.int16).reshape(300, 200).T
    copy = in_lines(value)
    np.testing.assert_array_equal(copy, value)
    assert start(copy) % ALIGNMENT == 0 and copy.flags.c_contiguous and not np.shares_memory(copy, value)


def test_a_slab_that_no_memory_holds_is_said_to_be_what_was_asked_for(monkeypatch):
    def none(*_: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(slabs, "_rests", [])
    monkeypatch.setattr(slabs.np, "empty", none)
    with pytest.raises(tx.ResourceError) as caught:
        block(LEAST)
    assert str(caught.value) == "error[memory]: tensors of 65,536 bytes do not fit into memory"


def test_what_no_memory_holds_is_refused():
    with pytest.raises(tx.ResourceError) as caught:
        block(1 << 60)
    assert (
        str(caught.value)
        == "error[memory]: tensors of 1,152,921,504,606,846,976 bytes do not fit into memory"
    )


def test_memory_that_comes_back_is_used_again():
    memory = slabs.Reused()
    first = memory.take(1000)
    first[:] = 1
    view = first.view(np.float32).reshape(5, 50)
    other = memory.take(1000)
    assert not np.shares_memory(first, other)
    memory.give_back(view)
    again = memory.take(400)
    assert np.shares_memory(first, again) and again.size == 400
    memory.give_back(again)
    larger = memory.take(2000)
    assert not np.shares_memory(first, larger) and larger.size == 2000
    memory.give_back(larger)
    assert not np.shares_memory(first, memory.take(10))  # too small for the last one, so it is gone


@pytest.mark.parametrize("size", [0, 1, 4097, slabs.PAGE + 1])
def test_mapped_memory(size: int):
    memory = slabs.mapped(size)
    assert memory.size == size and not memory.any()
    memory[:] = 1
    memory_of_others = slabs.Reused()
    memory_of_others.give_back(memory)
    assert not np.shares_memory(memory_of_others.take(1), memory)


@pytest.mark.parametrize("size", [1 << 60, 1 << 70])
def test_mapped_memory_that_is_not_there(size: int):
    with pytest.raises(tx.ResourceError, match=f"tensors of {size:,} bytes do not fit into memory"):
        slabs.mapped(size)


@pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="POSIX alone has such memory")
def test_memory_that_is_not_touched():
    array = slabs.untouched(1 << 36, np.dtype(np.float32), (2, 1 << 33))
    assert array.nbytes == 1 << 36 and array.shape == (2, 1 << 33) and isinstance(array, slabs.Given)
    assert array.reshape(-1).ctypes.data == array.ctypes.data
    code = (
        "import numpy as np; from texpr.runtime import slabs; slabs.untouched(64, np.dtype('u1'), (64,))[0]"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode < 0
