"""Memory of this machine for tensors that stay: whole lines, and large pages where there is enough
to fill them.

What a network keeps (parameters, states of optimizers, the block of a plan) is read from one end to
the other in every step. In pages of 4 KB the hardware, which asks for the next lines by itself,
stops at the end of each page, and the processor looks up each page anew. NumPy asks Linux for large
pages (2 MB) for arrays of 4 MB and more; most parameters are smaller. So blocks of middle size are
cut from slabs that are large enough.
"""

from __future__ import annotations

import mmap

import numpy as np

from texpr.support.errors import ResourceError

ALIGNMENT = 64
"""Bytes of a cache line, at which every tensor begins."""
PAGE = 1 << 21
"""Bytes of a large page."""
SLAB = 4 * PAGE
LEAST, MOST = 1 << 16, SLAB // 2
"""Bytes of a block that is cut from a slab: a smaller one has few pages, a larger one would
leave too much of a slab.
"""

_NOTHING = np.empty(0, np.uint8)
_rests: list[np.ndarray] = []
"""Rests of the slabs that are being cut: one, or as many as threads have cut at once. Each block
refers to the whole of its slab, which is freed with the last of them.
"""


def _cut(size: int) -> np.ndarray:
    """So many bytes, a multiple of `ALIGNMENT`.

    Whoever cuts a slab has it alone meanwhile, without a lock: a signal handler, or a finalizer,
    may come in between and cut too.
    """
    try:
        rest = _rests.pop()
    except IndexError:
        rest = _NOTHING
    if rest.size < size:
        rest = _alone(SLAB, PAGE, size)
    _rests.append(rest[size:])
    return rest[:size]


def block(size: int) -> np.ndarray:
    """Memory that begins at a whole line.

    Raises:
        ResourceError: there is not so much.
    """
    if not LEAST <= size <= MOST:
        return _alone(size, ALIGNMENT, size)
    return _cut(-(-size // ALIGNMENT) * ALIGNMENT)[:size]


class Given(np.ndarray):
    """An array in a block that whoever made it gives away: it need not be copied."""


def given(size: int, dtype: np.dtype, shape: tuple[int, ...]) -> Given:
    """An array of a shape in a block of so many bytes, not filled yet.

    Raises:
        ResourceError: there is not so much memory.
    """
    return block(size).view(dtype).reshape(shape).view(Given)


def in_lines(value: np.ndarray) -> np.ndarray:
    """A copy of an array that begins at a whole line: vectors of it lie in one line each."""
    copy = block(value.nbytes).view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def mapped(size: int) -> np.ndarray:
    """Memory that the system takes back as soon as nobody has it.

    Raises:
        ResourceError: there is not so much.
    """
    try:
        memory = mmap.mmap(-1, max(size, 1))
    except (OSError, OverflowError):
        raise _too_large(size) from None
    if size >= PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, size)


def touch(array: np.ndarray) -> None:
    """Have the system give memory to an array that nobody has written to yet: zeros are written to each
    of its pages.
    """
    array.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE] = 0


class Reused:
    """Memory for arrays that are needed one after the other: pages that were written once are there
    for the next array.
    """

    def __init__(self) -> None:
        self._taken: list[np.ndarray] = []
        self._free: list[np.ndarray] = []

    def take(self, size: int) -> np.ndarray:
        """So many bytes, of memory that came back where that is large enough."""
        fits = sorted((m for m in self._free if m.size >= size), key=len)
        if not fits:
            self._free.clear()  # too small, and not to lie beside the larger one
        found = fits[0] if fits else mapped(size)
        self._free = [m for m in self._free if m is not found]
        self._taken.append(found)
        return found[:size]

    def give_back(self, array: np.ndarray) -> None:
        """Let others have the memory of an array, if it was taken here; nobody may read it any more."""
        self._free += [m for m in self._taken if array.base is m]
        self._taken = [m for m in self._taken if array.base is not m]


def untouched(size: int, dtype: np.dtype, shape: tuple[int, ...]) -> Given:
    """An array in addresses that take no memory. Who reads or writes its elements ends the process:
    wrong numbers would be worse. For systems with `mmap` of POSIX.

    Raises:
        ResourceError: there are not so many addresses.
    """
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
    except (OSError, OverflowError):
        raise _too_large(size) from None
    return np.frombuffer(memory, dtype).reshape(shape).view(Given)


def _alone(size: int, alignment: int, wanted: int) -> np.ndarray:
    try:
        whole = np.empty(size + alignment, np.uint8)
    except (MemoryError, ValueError):
        raise _too_large(wanted) from None
    start = -whole.ctypes.data % alignment
    return whole[start : start + size]


def _too_large(size: int) -> ResourceError:
    return ResourceError(f"tensors of {size:,} bytes do not fit into memory", code="memory")
