"""Resources of kernels by a GPU's own assembler: registers of a thread, bytes that do not fit them,
shared memory.
"""

from __future__ import annotations

import re

from texpr.aot.nvidia_tools import assembled
from texpr.support.frozen_dataclass import frozen
from texpr.targets import Target

_ENTRY = re.compile(r"entry function '(\w+)'")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@frozen
class Needed:
    """By one kernel.

    Attributes:
        registers: of a thread.
        spilled: bytes that a thread stores for want of registers.
        shared_bytes: of a block, beside what launches give.
    """

    symbol: str
    registers: int
    spilled: int
    shared_bytes: int


def needed(ptx: str, target: Target) -> list[Needed]:
    """Resources of the kernels in a text, as ptxas reports them.

    Raises:
        ResourceError: ptxas is not installed, or takes too long.
        CompileError: it does not take the code.
    """
    _, said = assembled(ptx, target, "-v")
    starts = list(_ENTRY.finditer(said))
    ends = [m.start() for m in starts[1:]] + [len(said)]
    return [_of(m[1], said[m.end() : end]) for m, end in zip(starts, ends)]


def _of(symbol: str, said: str) -> Needed:
    def number(pattern: re.Pattern[str]) -> int:
        found = pattern.search(said)
        return int(found[1]) if found else 0

    return Needed(symbol, number(_USED), number(_SPILLED), number(_SHARED))
