"""Kernels with their arrays fixed, for programs that run many kernels again and again on the
same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from texpr.runtime.call import value_checks
from texpr.runtime.call.fast_path import make_function, make_runner
from texpr.runtime.call.spec import Argument, CallSpec
from texpr.runtime.native import native_library
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.shaped import ShapedMemory

_NO_SIZES = np.empty(0, np.int64)
_HEAD = 2
SWEPT = 1 << 12
"""Elements of a piece of a sweep, as many whatever the number of threads: whole lines of the
cache.
"""


@frozen
class Parameter(ShapedMemory):
    """An array that each call of a `function` gives; kernels read or write it where it lies.

    Attributes:
        position: among the inputs and, behind them, the outputs.
        offset: bytes behind its beginning.
    """

    position: int
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int = 0

    def reshape(self, shape: tuple[int, ...]) -> Parameter:
        """The same memory in another shape."""
        return replace(self, shape=shape)

    def part(self, start: int, shape: tuple[int, ...]) -> Parameter:
        """The elements from one on, in a shape."""
        return replace(self, shape=shape, offset=self.offset + start * self.itemsize)


Memory = np.ndarray | Parameter


@frozen
class Patch:
    """A word of a table that holds the address of a parameter.

    Attributes:
        position: of the parameter.
        offset: bytes behind its beginning.
        place: of the word, from the beginning of the table in bytes.
    """

    position: int
    offset: int
    place: int


@frozen
class Entry:
    """A kernel at an address, on these arrays: inputs, then outputs, then buffers for itself; the
    last two overlap nothing else, but for outputs where the kernel may write over inputs.
    """

    address: int
    arrays: tuple[Memory, ...]


@frozen
class SweepEntry:
    """Kernels that compute element by element, run on pieces of many sets of arrays: all of them
    are one loop of threads.

    Attributes:
        calls: in each row a kernel's address and its slots: arrays, and how many of their elements
            it computes.
        shared: among threads.
        patches: the words of `calls` that hold addresses of parameters.
        keep: the arrays.
    """

    calls: np.ndarray
    shared: bool
    patches: tuple[Patch, ...]
    keep: object


def sweep(
    address: int, whole: int, parts: Sequence[Sequence[Memory]], lengths: Sequence[int], shared: bool
) -> SweepEntry:
    """An entry for two kernels whose slots are inputs and outputs: scalars, and arrays of so many
    elements in each part.

    Args:
        address: of the kernel for any number of elements, which is its last slot; not needed where
            pieces are whole.
        whole: of the one for pieces of `SWEPT` elements; not needed where there are none.
    """
    rows: list[list[int]] = []
    patches: list[Patch] = []
    for arrays, length in zip(parts, lengths, strict=True):
        assert all(_is_contiguous(a) and a.size == (length if a.ndim else 1) for a in arrays), (
            "an array has another size"
        )
        for at in range(0, length, SWEPT):
            count = min(SWEPT, length - at)
            offsets = [at * a.itemsize if a.ndim else 0 for a in arrays]
            first = 8 * (len(rows) * (len(arrays) + 2) + 1)
            patches += _patches(arrays, offsets, first)
            places = [_address_of(a) + offset for a, offset in zip(arrays, offsets)]
            rows.append([whole if count == SWEPT else address, *places, count])
    assert all(row[0] for row in rows), "a piece has no kernel"
    return SweepEntry(np.array(rows, np.int64), shared, tuple(patches), tuple(map(tuple, parts)))


@frozen
class RangeEntry:
    """All elements of a contiguous integer array lie in `lo..hi`, hi excluded."""

    array: Memory
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
    table, patches = _table(entries)
    assert not patches, "parameters are of functions"
    return _runner(name, table, failed, (tuple(entries), keep))


def _runner(
    name: str, table: np.ndarray, failed: Callable[[int], object], keep: object
) -> Callable[[], object]:
    """A function without arguments that runs a table."""
    spec = CallSpec(name, (Argument("table", table.dtype, table.shape, output=True),))
    runner = make_runner(native_library.symbols()["tx_sequence"], spec, keep, lambda: failed(int(table[1])))
    return partial(runner, table, _NO_SIZES)


@frozen
class Function:
    """Kernels as a function of arrays.

    Attributes:
        call: takes the inputs by position, as arrays, and returns a new array for the output, a
            tuple where there are several.
        finish: runs the kernels that come later, on the arrays of the last call, which must still
            be there.
    """

    call: Callable[..., Any]
    finish: Callable[[], object]


def function(
    name: str,
    entries: Sequence[AnyEntry],
    later: Sequence[AnyEntry],
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    failed: Callable[[int], object],
    otherwise: Callable[..., object],
    keep: object,
) -> Function:
    """The same as a function of arrays, which kernels read where they lie, and of new arrays, which
    they write. Two threads must not call it at once.

    Args:
        later: entries that `finish` runs.
        failed: as of `sequence`, with a position among `entries` and then `later`.
        otherwise: called with the same arguments unless all are C-contiguous arrays of the shapes
            and dtypes of `inputs`. It is left out where there is no native code for calls.
    """
    table, patches = _table(entries)
    last, last_patches = _table(later)
    words = [w for p in patches for w in (p.position, p.offset, table.ctypes.data + p.place)]
    words += [w for p in last_patches for w in (p.position, p.offset, last.ctypes.data + p.place)]
    for entry in (*entries, *later):
        if isinstance(entry, SweepEntry):
            at = entry.calls.ctypes.data
            words += [w for p in entry.patches for w in (p.position, p.offset, at + p.place)]
    frame = np.array([table.ctypes.data, len(words) // 3, *words], np.int64)
    arguments = [Argument(f"x{k}", a.dtype, a.shape) for k, a in enumerate(inputs)]
    arguments += [Argument(f"y{k}", a.dtype, a.shape, output=True) for k, a in enumerate(outputs)]
    kept = (table, last, frame, tuple(entries), tuple(later), keep)
    call = make_function(
        native_library.symbols()["tx_function"],
        frame.ctypes.data,
        CallSpec(name, tuple(arguments)),
        lambda: failed(int(table[1])),
        otherwise,
        kept,
    )
    return Function(call, _runner(name, last, lambda position: failed(len(entries) + position), kept))


def _table(entries: Sequence[AnyEntry]) -> tuple[np.ndarray, list[Patch]]:
    """The table that `tx_sequence` of `sequence.c` reads, and its words that hold addresses of parameters."""
    slots = [_slots(e) for e in entries]
    table = np.zeros(_HEAD + 2 * len(entries) + sum(map(len, slots)), np.int64)
    table[0], at = len(entries), _HEAD + 2 * len(entries)
    patches: list[Patch] = []
    for k, (entry, own) in enumerate(zip(entries, slots)):
        table[_HEAD + 2 * k : _HEAD + 2 * k + 2] = _address(entry), table.ctypes.data + 8 * at
        table[at : at + len(own)] = own
        if isinstance(entry, Entry):
            patches += _patches(entry.arrays, [0] * len(own), 8 * at)
        elif isinstance(entry, RangeEntry):
            patches += _patches([entry.array], [0], 8 * (at + 1))
        at += len(own)
    return table, patches


def _patches(arrays: Sequence[Memory], offsets: Sequence[int], place: int) -> Iterator[Patch]:
    """Patches of words that follow each other, one for each array."""
    for k, (a, offset) in enumerate(zip(arrays, offsets, strict=True)):
        if isinstance(a, Parameter):
            yield Patch(a.position, a.offset + offset, place + 8 * k)


def _is_contiguous(a: Memory) -> bool:
    return isinstance(a, Parameter) or a.flags.c_contiguous


def _address_of(a: Memory) -> int:
    """The address of an array; 0 of a parameter, until a call says it."""
    return 0 if isinstance(a, Parameter) else a.ctypes.data


def _address(entry: AnyEntry) -> int:
    match entry:
        case Entry():
            return entry.address
        case SweepEntry():
            return native_library.symbols()["tx_sweep"]
        case RangeEntry():
            return native_library.symbols()["tx_check_range"]


def _slots(entry: AnyEntry) -> list[int]:
    if isinstance(entry, Entry):
        assert all(map(_is_contiguous, entry.arrays)), "an array is not contiguous"
        return [_address_of(a) for a in entry.arrays]
    if isinstance(entry, SweepEntry):
        count, words = entry.calls.shape
        return [entry.calls.ctypes.data, 8 * words, count, int(entry.shared)]
    kind = f"{entry.array.dtype.kind}{8 * entry.array.dtype.itemsize}"
    lo = (
        max(entry.lo, 0) if kind[0] == "u" else entry.lo
    )  # large unsigned values look negative to the native code
    return [value_checks.range_check(kind), _address_of(entry.array), entry.array.nbytes, lo, entry.hi]
