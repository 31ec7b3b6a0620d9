"""Registers that a thread's parts of buffers take at once: of a part those between its first use
and its last one.

What a loop uses of earlier iterations is there all the way. The assembler may do with less, as it
computes one value after the other; it can do with more, but not with fewer than one instruction
takes.

Source: Poletto, Sarkar, Linear Scan Register Allocation, TOPLAS 1999.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import Alloc, For, If, Stmt, Store, is_block
from texpr.ir.loop_kind import Thread
from texpr.ir.traverse import walk
from texpr.targets.gpu.thread_registers import OwnedElements

WORD = 4


def peak_registers(nest: Stmt, own: Mapping[Tensor, OwnedElements]) -> int:
    """Largest number of registers of one thread for its parts of buffers."""
    of_part = {t: t for t in own} | {part.tensor: t for t, part in own.items()}
    spans: dict[Tensor, tuple[int, int]] = {}
    order = 0

    def note(t: Tensor, first: int, last: int) -> None:
        begin, end = spans.get(t, (first, last))
        spans[t] = min(begin, first), max(end, last)

    def go(s: Stmt) -> tuple[list[Tensor], set[Tensor]]:
        """Parts that a statement uses before it fills them, in their order, and those that it
        allocates.
        """
        nonlocal order
        order += 1
        start = order
        if isinstance(s, Alloc):
            return [], {of_part[s.tensor]} if s.tensor in of_part else set()
        if not isinstance(s, For | If):
            read = [of_part[n.tensor] for n in walk(s) if isinstance(n, Read) and n.tensor in of_part]
            if isinstance(s, Store) and s.tensor in of_part:
                read += [of_part[s.tensor]] if s.update is not None else []
                note(of_part[s.tensor], start, start)
            for t in read:
                note(t, start, start)
            return read, {of_part[s.tensor]} if isinstance(s, Store) and s.tensor in of_part else set()
        carried: list[Tensor] = []
        filled: set[Tensor] = set()
        for inside in s.body:
            wanted, done = go(inside)
            carried += [t for t in wanted if t not in filled]
            filled |= done
        if (
            isinstance(s, For)
            and not is_block(s)
            and not isinstance(s.kind, Thread)
            and integer(s.extent) != 1
        ):
            for t in carried:
                note(t, start, order)
        return carried, filled

    go(nest)
    changes = [0] * (order + 2)
    for t, (first, last) in spans.items():
        words = -(-len(own[t].places) * t.dtype.bytes // WORD)
        changes[first] += words
        changes[last + 1] -= words
    return max(accumulate(changes))
