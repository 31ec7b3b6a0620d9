"""Kernels with their arrays fixed, for programs that run many kernels again and again on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from texpr.runtime import checks, native
from texpr.runtime.call import make_runner
from texpr.runtime.spec import Argument, CallSpec

_NO_SIZES = np.empty(0, np.int64)
_HEAD = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel at an address, on these arrays: inputs, then outputs, which overlap nothing else."""

    address: int
    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class RangeEntry:
    """All elements of a contiguous integer array lie in `lo..hi`, hi excluded."""

    array: np.ndarray
    lo: int
    hi: int


def sequence(name: str, entries: Sequence[Entry | RangeEntry], failed: Callable[[int], object], keep: object) -> Callable[[], object]:
    """A function without arguments that runs kernels one after the other, in one native call; it keeps their arrays alive.

    Interrupted by Ctrl-C whose handler does not raise, it begins anew: no kernel may write what it or one before it reads.

    Args:
        failed: called when a kernel cannot finish or a check fails, with the position of the entry, to raise.
        keep: kept alive as well, such as the owners of the code.
    Raises:
        KeyboardInterrupt: when called, and the user presses Ctrl-C.
    """
    slots = [_slots(e) for e in entries]
    table = np.zeros(_HEAD + 2 * len(entries) + sum(map(len, slots)), np.int64)
    table[0], at = len(entries), _HEAD + 2 * len(entries)
    for k, (entry, own) in enumerate(zip(entries, slots)):
        table[_HEAD + 2 * k : _HEAD + 2 * k + 2] = _address(entry), table.ctypes.data + 8 * at
        table[at : at + len(own)] = own
        at += len(own)
    spec = CallSpec(name, (Argument("table", table.dtype, table.shape, output=True),))
    runner = make_runner(native.symbols()["tx_sequence"], spec, (tuple(entries), keep), lambda: failed(int(table[1])))
    return partial(runner, table, _NO_SIZES)


def _address(entry: Entry | RangeEntry) -> int:
    return entry.address if isinstance(entry, Entry) else native.symbols()["tx_check_range"]


def _slots(entry: Entry | RangeEntry) -> list[int]:
    if isinstance(entry, Entry):
        assert all(a.flags.c_contiguous for a in entry.arrays), "an array is not contiguous"
        return [a.ctypes.data for a in entry.arrays]
    kind = f"{entry.array.dtype.kind}{8 * entry.array.dtype.itemsize}"
    lo = max(entry.lo, 0) if kind[0] == "u" else entry.lo  # large unsigned values look negative to the native code
    return [checks.range_check(kind), entry.array.ctypes.data, entry.array.nbytes, lo, entry.hi]
