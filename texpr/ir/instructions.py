"""Instructions that do the work of a small nest of loops, with what they mean as a listing. Targets
fill the table.

A loop of kind `instruction.NAME` holds the nest that one instruction runs: its meaning stays in the
kernel, so the interpreter and the proofs need to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from texpr.ir.dtypes import DType
from texpr.ir.loop import Kernel
from texpr.support.frozen_dataclass import frozen


@frozen
class Instruction:
    """An instruction.

    Attributes:
        text: a kernel of one nest that does the same; its tensors are the operands, in row-major
            order; rows of symbolic length may stand anywhere.
        emit: what a target needs to know to write it.
        flushes_denormals: it adds floats in an order and with roundings of its own, and takes
            denormal numbers for zeros.
        reorders: it adds floats in an order of its own.
        reduced_precision: what it adds to a sum loses bits that f32 would keep: about 13 of a
            fraction are left.
        offset: what it takes as signed becomes unsigned first, and what that adds is found by one
            more product for each register of a row.
        asynchronous: it can be begun and waited for later: threads go on meanwhile.
        masked: conditions may stand in the nest: the instruction leaves out the elements for which
            they fail.
        tiles: the operands that are in tiles; rows of the others are as far apart everywhere. None
            where it knows no tiles.
    """

    name: str
    text: str
    emit: object
    flushes_denormals: bool = False
    reorders: bool = False
    reduced_precision: bool = False
    masked: bool = False
    offset: bool = False
    asynchronous: bool = False
    tiles: frozenset[str] | None = None


INSTRUCTIONS: dict[str, Instruction] = {}
"""All of them, whatever target has them."""
_READERS: list[Callable[[str], Kernel]] = []


def transpose(dtype: DType, lanes: int) -> str:
    """The name of the transposition of a square: a register of so many elements for every row."""
    return f"transpose{lanes}_{dtype}"


def listed(names: Iterable[str]) -> str:
    """Names for a complaint, transpositions by their number of rows: `transpose16_{f16, i16}`."""
    types: dict[str, list[str]] = {}
    for name in sorted(names):
        rows, _, dtype = name.rpartition("_")
        types.setdefault(f"{rows}_" if name.startswith("transpose") else name, []).append(dtype)
    return ", ".join(
        f"{name}{{{', '.join(found)}}}" if name.endswith("_") else name for name, found in types.items()
    )


def read_with(reader: Callable[[str], Kernel]) -> None:
    """Say how a listing becomes a kernel: the parser stands above the targets and the steps."""
    _READERS.append(reader)


@lru_cache(maxsize=64)
def meaning(name: str) -> Kernel:
    """The kernel that an instruction computes, read from its text."""
    return _READERS[-1](INSTRUCTIONS[name].text)
