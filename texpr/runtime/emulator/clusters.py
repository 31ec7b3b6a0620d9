"""Blocks of a cluster in the emulator of GPUs: all of them at once, warp after warp, at speeds that
are as different as may be.

One block is slow: it goes on by one warp at a time, up to its next stop, while the others have gone
as far as they can without it. Which one depends on the order of threads. Shared memory of the block
that runs lies where the code says, that of others aside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from texpr.runtime.emulator.bulk_copies import ENDLESS, FAULTS
from texpr.runtime.native import jit

Extents = tuple[int, int, int]
WARP = 32
MOST_THREADS = 1024
"""Of a cluster: the emulator has room for so many."""
CLUSTER_BARRIERS = 1 << 18
"""Barriers of a cluster have numbers from here on, those of blocks smaller ones."""
PHASE_WAIT, PHASE_RETRY = 1 << 19, (1 << 19) + 1
"""States of a block's threads at a barrier before they ask for a phase, and before they ask again.
"""
READY, ENDED = 0, -1
EXPORTS = (
    "fiber_first",
    "fiber_live",
    "fiber_blocks",
    "fiber_cluster",
    "fiber_in_cluster",
    "fiber_gone",
    "fiber_events",
    "fiber_aside",
    "fiber_room",
    "fiber_go",
    "fiber_fill",
    "fiber_fault",
    "fiber_poison",
    "fiber_prepare",
    "fiber_warp",
    "fiber_kernel",
    "fiber_arguments",
    "fiber_progress",
)


def padded_threads(threads: int) -> int:
    """Of a block of so many threads: whole warps."""
    return -(-threads // WARP) * WARP


@dataclass(slots=True)
class _Warp:
    """The state in which 32 threads stopped; `seen` counts the events by then."""

    block: int
    first: int
    count: int
    state: int = READY
    seen: int = -1


def _describe(warps: Sequence[_Warp]) -> str:
    """Text of the places where warps stopped."""
    return ", ".join(
        f"warp {w.first // WARP} of block {w.block} "
        f"{'ended' if w.state == ENDED else f'at barrier {w.state}'}"
        for w in warps
    )


class Clusters:
    """Runs the clusters of a grid one after the other."""

    def __init__(
        self,
        library: jit.Library,
        threads: int,
        block: Extents,
        cluster: Extents,
        backwards: bool,
        ended: Callable[[], None],
    ) -> None:
        """
        Args:
            ended: called where the memory of a block that has ended is still there.
        """
        self.library, self.threads, self.block, self.cluster, self.ended = (
            library,
            threads,
            block,
            cluster,
            ended,
        )
        self.blocks, self.stride = prod(cluster), padded_threads(threads)
        assert self.stride * self.blocks <= MOST_THREADS, (
            f"the emulator runs {MOST_THREADS} threads of a cluster"
        )
        self.slow = self.blocks - 1 if backwards else 0
        self.backwards = backwards
        self.aside = (ctypes.c_char * (self._word("fiber_room").value * self.blocks))()

    def run(self, kernel: int, arguments: int, stacks: int, size: int, grid: Extents) -> str | None:
        """Run a grid; what went wrong, if something did."""
        self._word("fiber_kernel").value, self._word("fiber_arguments").value = kernel, arguments
        self._word("fiber_aside").value, self._word("fiber_blocks").value = (
            ctypes.addressof(self.aside),
            self.blocks,
        )
        assert not any(n % c for n, c in zip(grid, self.cluster)), "a grid has whole clusters"
        counts = [n // c for n, c in zip(grid, self.cluster)]
        try:
            for z, y, x in product(*map(range, reversed(counts))):
                self._call("fiber_prepare", stacks, size, self.stride * self.blocks)
                if (fault := self._cluster((x, y, z))) is not None:
                    return fault
        finally:
            self._call("fiber_go", 0)
            (
                self._word("fiber_blocks").value,
                self._word("fiber_first").value,
                self._word("fiber_gone").value,
            ) = 1, 0, 0
        return None

    def _cluster(self, place: Extents) -> str | None:
        for k in range(self.blocks):
            self._call("fiber_go", k)
            self._call("fiber_fill")
        self._call("fiber_poison")
        self._word("fiber_gone").value = 0
        ctypes.memset(self.library["fiber_progress"], 0, 24 * MOST_THREADS)
        starts = range(0, self.threads, WARP)
        warps = [
            _Warp(k, s, min(WARP, self.threads - s))
            for k in self._order()
            for s in (reversed(starts) if self.backwards else starts)
        ]
        while (warp := self._runnable_warp(warps)) is not None:
            self._step(warp, place)
            if warp.state == READY:
                return "threads of a warp stopped at different places"
            for mine in self._by_block(warps):
                self._release_block(mine)
            self._release_cluster(warps)
            if (fault := self._fault()) is not None:
                return fault
        if all(w.state == ENDED for w in warps):
            return None
        return (
            FAULTS[ENDLESS]
            if any(w.state == PHASE_RETRY for w in warps)
            else f"threads wait at different places: {_describe(warps)}"
        )

    def _order(self) -> list[int]:
        """The blocks, the slow one last."""
        return [k for k in range(self.blocks) if k != self.slow] + [self.slow]

    def _runnable_warp(self, warps: Sequence[_Warp]) -> _Warp | None:
        events = self._word("fiber_events").value
        return next(
            (w for w in warps if w.state == READY or w.state == PHASE_RETRY and w.seen != events), None
        )

    def _step(self, warp: _Warp, place: Extents) -> None:
        """Run a warp to its next stop."""
        rest, inside = warp.block, list[int]()
        for n in self.cluster:
            rest, at = divmod(rest, n)
            inside.append(at)
        self._call("fiber_go", warp.block)
        for name, values in (
            ("fiber_cluster", place),
            ("fiber_in_cluster", inside),
            ("fiber_block", [p * c + i for p, c, i in zip(place, self.cluster, inside)]),
        ):
            (ctypes.c_int32 * 3).from_address(self.library[name])[:] = list(values)
        first = warp.block * self.stride
        self._word("fiber_first").value = first
        warp.state = self._call("fiber_warp", first + warp.first, warp.count, *self.block[:2])
        warp.seen = self._word("fiber_events").value

    def _release_block(self, mine: Sequence[_Warp]) -> None:
        """Let the warps of a block go on from a barrier that all have come to; what is left of
        it, if all have ended, is no memory.
        """
        states = {w.state for w in mine}
        state = states.pop()
        if states:
            return
        if 0 < state < CLUSTER_BARRIERS or state == PHASE_WAIT:
            for w in mine:
                w.state = READY
        elif state == ENDED and not self._word("fiber_gone").value >> mine[0].block & 1:
            self._call("fiber_go", mine[0].block)
            self.ended()
            self._call("fiber_fill")
            self._word("fiber_gone").value |= 1 << mine[0].block

    @staticmethod
    def _release_cluster(warps: Sequence[_Warp]) -> None:
        """Let all blocks go on from a barrier of the cluster."""
        if len({w.state for w in warps}) == 1 and CLUSTER_BARRIERS <= warps[0].state < PHASE_WAIT:
            for w in warps:
                w.state = READY

    def _by_block(self, warps: Sequence[_Warp]) -> Iterator[list[_Warp]]:
        for k in range(self.blocks):
            yield [w for w in warps if w.block == k]

    def _fault(self) -> str | None:
        found = ctypes.c_int32.from_address(self.library["fiber_fault"]).value
        return FAULTS[found] if found else None

    def _word(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self.library[name])

    def _call(self, name: str, *values: int) -> int:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * len(values))(self.library[name])(*values)
