"""Arguments and results of a kernel, in words of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from texpr.runtime.call import value_checks
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


@frozen
class Computed:
    """An extent that follows from sizes.

    Attributes:
        text: as the user would write it, such as `N + 2`.
        value: its value, given the sizes that are known.
    """

    text: str
    value: Callable[[Mapping[str, int]], int]

    def __str__(self) -> str:
        return self.text


Extent = int | str | Computed


@frozen
class Argument:
    """One array.

    Attributes:
        name: as the user wrote it.
        dtype: of its elements, in native byte order.
        shape: per axis a constant, the name of a size (bound where it is met first, compared
            elsewhere), or a computed extent.
        output: the kernel writes it, all of it.
        bits_of: what ml_dtypes calls the type whose bits these are, if NumPy lacks it; such arrays
            are taken too.
    """

    name: str
    dtype: np.dtype
    shape: tuple[Extent, ...]
    output: bool = False
    bits_of: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


Duration = Literal["interruptible", "short", "trivial"]
Check = Callable[[Sequence[np.ndarray], Mapping[str, int]], None]


@frozen
class CallSpec:
    """A kernel as callers see it.

    Attributes:
        name: of the operator.
        arguments: inputs, then outputs; the kernel's slots in this order.
        sizes: the sizes that the kernel takes after the arrays, in order: names, or numbers where
            no extent names them.
        checks: facts about values and sizes that the kernel relies on; each raises CallError where
            they do not hold.
        duration: `interruptible` kernels look for Ctrl-C; `short` ones do not, and signals wait
            until they are over; `trivial` ones are over before another thread could make use of the
            GIL, which is kept.
        short_up_to: an `interruptible` kernel is short where none of `sizes` is larger than this.
    """

    name: str
    arguments: tuple[Argument, ...]
    sizes: tuple[str | int, ...] = ()
    checks: tuple[Check, ...] = ()
    duration: Duration = "interruptible"
    short_up_to: int = 0

    @property
    def inputs(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.output)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.output)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> {', '.join(map(str, self.outputs))}"


Numbers = Literal["any", "python", "own"]
"""Numbers that may stand for an array of rank 0: any; Python's, and of NumPy's those of the
argument's dtype; these alone.
"""


@frozen
class Form:
    """In which form a call has the inputs of a kernel.

    Attributes:
        positional: how many may come by position; the others come by name.
        complete: all outputs may follow by position.
        constants: names and values (float, int or bool) that are given by name, and were used when
            the kernel was made.
        numbers: for every input.
    """

    positional: int
    complete: bool
    constants: tuple[tuple[str, int | float], ...]
    numbers: tuple[Numbers, ...]


@frozen
class RangeCheck:
    """Every element of an integer input lies in `lo..hi`, hi excluded.

    Attributes:
        position: of the input among the inputs.
        name: of the input.
        lo, hi: constants, names of sizes, or computed.
    """

    position: int
    name: str
    lo: Extent
    hi: Extent

    def __call__(self, arrays: Sequence[np.ndarray], sizes: Mapping[str, int]) -> None:
        array = arrays[self.position]
        lo, hi = extent_value(self.lo, sizes), extent_value(self.hi, sizes)
        if array.size == 0 or (lo <= int(array.min()) and int(array.max()) < hi):
            return
        first = np.unravel_index(int(np.argmax((array < lo) | (array >= hi))), array.shape)
        place = f"`{self.name}[{', '.join(map(str, first))}]`" if first else f"`{self.name}`"
        bounds = f"{self.lo}..{self.hi}" + (f" = {lo}..{hi}" if (self.lo, self.hi) != (lo, hi) else "")
        raise CallError(f"{place} is {array[first]}, expected a value in {bounds}", code="range")


@frozen
class DistinctCheck:
    """Every row of an input holds each value once.

    Attributes:
        position: of the input among the inputs.
        name: of the input.
        row: how many elements, in memory order, make a row.
    """

    position: int
    name: str
    row: Extent

    def __call__(self, arrays: Sequence[np.ndarray], sizes: Mapping[str, int]) -> None:
        array = arrays[self.position]
        if array.size == 0 or _all_seen_once(rows := array.reshape(-1, extent_value(self.row, sizes))):
            return
        ordered = np.sort(rows, axis=1)
        if not (ordered[:, 1:] == ordered[:, :-1]).any():
            return
        order = np.argsort(rows, axis=1, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=1)
        repeated = ordered[:, 1:] == ordered[:, :-1]
        at = int(np.argmax(repeated.any(axis=1)))
        k = int(np.argmax(repeated[at]))
        first, second = (
            np.unravel_index(at * rows.shape[1] + int(order[at, j]), array.shape) for j in (k, k + 1)
        )
        places = " and ".join(f"`{self.name}[{', '.join(map(str, place))}]`" for place in (first, second))
        raise CallError(f"{places} are both {array[first]}, expected distinct values", code="distinct")


def _all_seen_once(rows: np.ndarray) -> bool:
    """Marks instead of sorting, for integers that are about as many as the values they could
    have; False where sorting has to tell.
    """
    if rows.dtype.kind not in "iu":
        return False
    if not (rows.flags.c_contiguous and rows.dtype.isnative):
        rows = np.ascontiguousarray(rows, rows.dtype.newbyteorder("="))
    return value_checks.all_distinct(rows, rows.shape[1])


def extent_value(extent: Extent, sizes: Mapping[str, int]) -> int:
    """The value of an extent; every size it names must be in `sizes`."""
    match extent:
        case int():
            return extent
        case str():
            return sizes[extent]
        case Computed():
            return extent.value(sizes)
        case _:
            raise AssertionError(f"no extent: {extent!r}")
