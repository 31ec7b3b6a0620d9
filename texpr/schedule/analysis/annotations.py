"""Notes behind the loops of a listing: the reason for each loop's kind, and the memory it touches."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from texpr import poly
from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import For, If, Kernel
from texpr.ir.loop_kind import SERIAL, UNROLLED, VECTOR
from texpr.ir.machine import Machine
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import tensors, walk
from texpr.schedule.analysis.memory_requests import block, requests
from texpr.schedule.legality.independence import own_buffers
from texpr.schedule.structure.loops import all_loops, loops_around, private_temporaries, stores
from texpr.support.errors import ScheduleError

UNSCHEDULED = "unscheduled"
"""The annotation of a nest that a part of the default schedule left as it was, because that part
failed.
"""
_UNITS = {0: "bytes", 10: "KiB", 20: "MiB", 30: "GiB"}


def explain(kernel: Kernel, machine: Machine | None = None) -> Mapping[Var, str]:
    """A few words for every loop that is not obvious.

    Why the default schedule left it as it is; what lets its iterations run at once, or what forbids
    it; the bytes that an iteration touches where that is a number and the loop holds others; of
    outermost loops, how many conditions are left inside; and on GPUs, what a block is made of, how
    many run at once on a processor of the machine (`occupancy`) and what a warp asks of memory at
    once (`memory_requests`).
    """
    notes = {}
    for loop in all_loops(kernel):
        words = [
            _left(loop),
            _order(kernel, loop),
            _bytes(kernel, loop),
            _guards(loop) if loop in kernel.body else "",
            *block(kernel, loop, machine),
            *requests(kernel, loop),
        ]
        if any(words):
            notes[loop.var] = ", ".join(w for w in words if w)
    return notes


def _left(loop: For) -> str:
    """The reason why the default schedule left a nest as it is."""
    reason = dict(loop.notes).get(UNSCHEDULED)
    return "" if reason is None else f"left as it is: {reason}"


def _meets(kernel: Kernel, loop: For) -> str:
    """The tensors in whose atomic updates iterations of a loop meet."""
    updated = dict.fromkeys(s.tensor.name for s in stores(loop) if s.mode is ATOMIC)
    if not updated or poly.carried_dependence(kernel, loop, private=own_buffers(kernel, loop)) is None:
        return ""
    return f" but for atomic updates of {' and '.join(updated)}"


def _order(kernel: Kernel, loop: For) -> str:
    if loop.kind == UNROLLED:
        return ""
    if loop.kind != SERIAL:
        return f"proven independent{_meets(kernel, loop)}"
    try:
        # What never leaves an iteration could be had once per iteration; it is no reason to keep
        # the order.
        conflict = poly.carried_dependence(kernel, loop, private=private_temporaries(kernel, loop))
    except ScheduleError:
        return "not decided within the quota"
    if conflict is None:
        return "independent"
    store = conflict.sink[0]
    if store.update is not None and conflict.source[0] is store:
        return f"in order: accumulates into {conflict.tensor.name}"
    return f"in order: carries {conflict.tensor.name}"


def _bytes(kernel: Kernel, loop: For) -> str:
    if loop.kind in (UNROLLED, VECTOR) or not any(
        isinstance(n, For) and n.kind != VECTOR for s in loop.body for n in walk(s)
    ):
        return ""
    around = (*loops_around(kernel, loop), loop)
    total = 0
    for tensor in tensors(loop):
        box = poly.footprint(kernel, tensor, around)
        extents = [integer(e) for e in box.extents] if box is not None else [0]
        if None in extents:
            return ""
        total += prod(n for n in extents if n is not None) * tensor.dtype.bytes
    return f"{_size(total)} an iteration"


def _size(count: int) -> str:
    power = max((k for k in _UNITS if count >= 1 << k), default=0)
    return f"{count / (1 << power):.1f}".removesuffix(".0") + f" {_UNITS[power]}"


def _guards(loop: For) -> str:
    count = sum(isinstance(n, If) for n in walk(loop))
    return f"{count} guard{'s' * (count > 1)}" if count else ""
