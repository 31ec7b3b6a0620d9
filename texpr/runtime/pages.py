"""Arrays behind which nothing may be touched: a read there ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def at_the_end_of_a_page(array: np.ndarray) -> np.ndarray:
    """A copy whose last byte is the last one of a page, before a page without access. Where there is no mprotect, the array as it is."""
    if not hasattr(mmap, "PROT_READ") or not array.nbytes:
        return array
    size = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + size), mmap.PAGESIZE, 0):
        return array
    copy = np.frombuffer(memory, array.dtype, array.size, offset=size - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy
