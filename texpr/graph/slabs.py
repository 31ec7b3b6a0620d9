"""Memory of this machine for tensors that stay: whole lines, and large pages where there is enough to fill them.

What a network keeps (parameters, states of optimizers, the block of a plan) is read from one end to the other in every step. In pages of
4 KB the hardware, which asks for the next lines by itself, stops at the end of each page, and the processor looks up each page anew. NumPy
asks Linux for large pages (2 MB) for arrays of 4 MB and more; most parameters are smaller. So blocks of middle size are cut from slabs that
are large enough.
"""

from __future__ import annotations

import threading

import numpy as np

from texpr.support.errors import ResourceError

ALIGNMENT = 64
"""Bytes of a cache line, at which every tensor begins."""
PAGE = 1 << 21
"""Bytes of a large page."""
SLAB = 4 * PAGE
LEAST, MOST = 1 << 16, SLAB // 2
"""Bytes of a block that is cut from a slab: a smaller one has few pages, a larger one would leave too much of a slab."""


class _Slabs:
    """The slab that is being cut: each block refers to the whole one, which is freed with the last of them."""

    def __init__(self) -> None:
        self._lock, self._rest = threading.Lock(), np.empty(0, np.uint8)

    def cut(self, size: int) -> np.ndarray:
        """So many bytes, a multiple of `ALIGNMENT`."""
        with self._lock:
            if self._rest.size < size:
                self._rest = _alone(SLAB, PAGE)
            found, self._rest = self._rest[:size], self._rest[size:]
            return found


_slabs = _Slabs()


def block(size: int) -> np.ndarray:
    """Memory that begins at a whole line.

    Raises:
        ResourceError: there is not so much.
    """
    if not LEAST <= size <= MOST:
        return _alone(size, ALIGNMENT)
    return _slabs.cut(-(-size // ALIGNMENT) * ALIGNMENT)[:size]


def in_lines(value: np.ndarray) -> np.ndarray:
    """A copy of an array that begins at a whole line: vectors of it lie in one line each."""
    copy = block(value.nbytes).view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


def _alone(size: int, alignment: int) -> np.ndarray:
    try:
        whole = np.empty(size + alignment, np.uint8)
    except (MemoryError, ValueError):
        raise ResourceError(f"tensors of {size:,} bytes do not fit into memory", code="memory") from None
    start = -whole.ctypes.data % alignment
    return whole[start : start + size]
