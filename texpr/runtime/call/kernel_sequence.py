"""Kernels with their arrays fixed, for programs that run many kernels again and again on the
same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from texpr.runtime.call import value_checks
from texpr.runtime.call.fast_path import make_function, make_runner
from texpr.runtime.call.spec import Argument, CallSpec
from texpr.runtime.native import library as native

_NO_SIZES = np.empty(0, np.int64)
_HEAD = 2
SWEPT = 1 << 12
"""Elements of a piece of a sweep, as many whatever the number of threads: whole lines of the
cache.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel at an address, on these arrays: inputs, then outputs, then buffers for itself; the
    last two overlap nothing else, but for outputs where the kernel may write over inputs.
    """

    address: int
    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class SweepEntry:
    """Kernels that compute element by element, run on pieces of many sets of arrays: all of them
    are one loop of threads.

    Attributes:
        calls: in each row a kernel's address and its slots: arrays, and how many of their elements
            it computes.
        shared: among threads.
        keep: the arrays.
    """

    calls: np.ndarray
    shared: bool
    keep: object


def sweep(
    address: int, whole: int, parts: Sequence[Sequence[np.ndarray]], lengths: Sequence[int], shared: bool
) -> SweepEntry:
    """An entry for two kernels whose slots are inputs and outputs: scalars, and arrays of so many
    elements in each part.

    Args:
        address: of the kernel for any number of elements, which is its last slot; not needed where
            pieces are whole.
        whole: of the one for pieces of `SWEPT` elements; not needed where there are none.
    """
    rows = []
    for arrays, length in zip(parts, lengths, strict=True):
        assert all(a.flags.c_contiguous and a.size == (length if a.ndim else 1) for a in arrays), (
            "an array has another size"
        )
        for at in range(0, length, SWEPT):
            places = [a.ctypes.data + (at * a.itemsize if a.ndim else 0) for a in arrays]
            count = min(SWEPT, length - at)
            rows.append([whole if count == SWEPT else address, *places, count])
    assert all(row[0] for row in rows), "a piece has no kernel"
    return SweepEntry(np.array(rows, np.int64), shared, tuple(map(tuple, parts)))


@dataclass(frozen=True, slots=True)
class RangeEntry:
    """All elements of a contiguous integer array lie in `lo..hi`, hi excluded."""

    array: np.ndarray
    lo: int
    hi: int


AnyEntry = Entry | SweepEntry | RangeEntry


def sequence(
    name: str, entries: Sequence[AnyEntry], failed: Callable[[int], object], keep: object
) -> Callable[[], object]:
    """A function without arguments that runs kernels one after the other, in one native call; it
    keeps their arrays alive.

    Interrupted by Ctrl-C whose handler does not raise, it begins anew: no kernel may write what it
    or one before it reads, but what one of them has written.

    Args:
        failed: called when a kernel cannot finish or a check fails, with the position of the entry,
            to raise.
        keep: kept alive as well, such as the owners of the code.
    Raises:
        KeyboardInterrupt: when called, and the user presses Ctrl-C.
    """
    table = _table(entries)
    spec = CallSpec(name, (Argument("table", table.dtype, table.shape, output=True),))
    runner = make_runner(
        native.symbols()["tx_sequence"], spec, (tuple(entries), keep), lambda: failed(int(table[1]))
    )
    return partial(runner, table, _NO_SIZES)


def function(
    name: str,
    entries: Sequence[AnyEntry],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    failed: Callable[[int], object],
    otherwise: Callable[..., object],
    keep: object,
) -> Callable[..., Any]:
    """The same as a function of arrays, which are copied to `inputs` before, and gives new arrays
    with what lies in `outputs` then.

    It returns one array, or a tuple of several. Two threads must not call it at once.

    Args:
        otherwise: called with the same arguments unless all are C-contiguous arrays of the shapes
            and dtypes of `inputs`.
    """
    assert all(a.flags.c_contiguous for a in (*inputs, *outputs)), "an array is not contiguous"
    table = _table(entries)
    places = [word for a in (*inputs, *outputs) for word in (a.ctypes.data, a.nbytes)]
    frame = np.array([table.ctypes.data, len(inputs), len(outputs), *places], np.int64)
    arguments = [Argument(f"x{k}", a.dtype, a.shape) for k, a in enumerate(inputs)]
    arguments += [Argument(f"y{k}", a.dtype, a.shape, output=True) for k, a in enumerate(outputs)]
    kept = (table, frame, tuple(entries), tuple(inputs), tuple(outputs), keep)
    return make_function(
        native.symbols()["tx_function"],
        frame.ctypes.data,
        CallSpec(name, tuple(arguments)),
        lambda: failed(int(table[1])),
        otherwise,
        kept,
    )


def _table(entries: Sequence[AnyEntry]) -> np.ndarray:
    """The table that `tx_sequence` of `sequence.c` reads."""
    slots = [_slots(e) for e in entries]
    table = np.zeros(_HEAD + 2 * len(entries) + sum(map(len, slots)), np.int64)
    table[0], at = len(entries), _HEAD + 2 * len(entries)
    for k, (entry, own) in enumerate(zip(entries, slots)):
        table[_HEAD + 2 * k : _HEAD + 2 * k + 2] = _address(entry), table.ctypes.data + 8 * at
        table[at : at + len(own)] = own
        at += len(own)
    return table


def _address(entry: AnyEntry) -> int:
    match entry:
        case Entry():
            return entry.address
        case SweepEntry():
            return native.symbols()["tx_sweep"]
        case RangeEntry():
            return native.symbols()["tx_check_range"]


def _slots(entry: AnyEntry) -> list[int]:
    if isinstance(entry, Entry):
        assert all(a.flags.c_contiguous for a in entry.arrays), "an array is not contiguous"
        return [a.ctypes.data for a in entry.arrays]
    if isinstance(entry, SweepEntry):
        count, words = entry.calls.shape
        return [entry.calls.ctypes.data, 8 * words, count, int(entry.shared)]
    kind = f"{entry.array.dtype.kind}{8 * entry.array.dtype.itemsize}"
    lo = (
        max(entry.lo, 0) if kind[0] == "u" else entry.lo
    )  # large unsigned values look negative to the native code
    return [value_checks.range_check(kind), entry.array.ctypes.data, entry.array.nbytes, lo, entry.hi]
