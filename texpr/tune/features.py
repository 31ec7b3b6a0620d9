"""Features of a loop nest for a cost model, known without running it: numbers of the same meaning
for every schedule of a kernel.

Per store: how often it runs, in which kinds of loops, and how many bytes come from beyond each
cache. A tensor's footprint in some loops is the box of the iterations that move along it; the
innermost loops whose footprints fit a cache are what that cache holds, and the loops around them
fetch it once per iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.nest import extent
from texpr.ir.build import integer
from texpr.ir.expr import Read
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.loop_kind import PARALLEL, UNROLLED, VECTOR
from texpr.ir.machine import Machine
from texpr.ir.traverse import walk
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import paths

KINDS = (VECTOR, UNROLLED, PARALLEL)


def describe(kernel: Kernel, machine: Machine) -> list[float]:
    """Logarithms of: statement instances; those in vector loops; bodies written out; iterations
    shared among threads; buffers, in bytes; bytes from beyond each cache."""
    total = dict.fromkeys(KINDS, 0.0)
    instances, traffic = 0.0, [0.0 for _ in machine.caches]
    for above, store in paths(kernel):
        if not isinstance(store, Store):
            continue
        loops = [n for n in above if isinstance(n, For)]
        runs = prod(map(extent, loops))
        instances += runs
        for kind in KINDS:
            total[kind] += prod(extent(n) for n in loops if n.kind == kind) * (runs if kind == VECTOR else 1)
        for level, size in enumerate(machine.caches):
            traffic[level] += _traffic(loops, store, size)
    buffers = sum(
        prod(integer(e) or COSTS.typical_extent for e in t.shape) * t.dtype.bytes for t in kernel.temporaries
    )
    return [log2(1 + v) for v in (instances, *total.values(), buffers, *traffic)]


def _traffic(loops: Sequence[For], store: Store, cache: int) -> float:
    """Bytes that a store and its reads fetch from beyond a cache of so many bytes."""
    reads = [n for n in walk(store.value) if isinstance(n, Read)]
    accesses = [Access(store.tensor, store.indices), *(Access(n.tensor, n.indices) for n in reads)]
    moving = [[a.stride(n.var) != 0 for n in loops] for a in accesses]
    for outside in range(len(loops) + 1):
        inside = sum(a.tensor.dtype.bytes * _box(loops, moves, outside) for a, moves in zip(accesses, moving))
        if inside <= cache or outside == len(loops):
            return sum(
                prod(map(extent, loops[: _last(moves, outside)]))
                * a.tensor.dtype.bytes
                * _box(loops, moves, outside)
                for a, moves in zip(accesses, moving)
            )
    raise AssertionError("no loops hold nothing")


def _box(loops: Sequence[For], moves: Sequence[bool], outside: int) -> int:
    """Elements of an access that the loops from `outside` on touch."""
    return prod(extent(n) for n, m in zip(loops[outside:], moves[outside:]) if m)


def _last(moves: Sequence[bool], outside: int) -> int:
    """Number of the loops around that make an access fetch anew: those up to the innermost one that
    moves it.
    """
    return max((k + 1 for k in range(outside) if moves[k]), default=0)
