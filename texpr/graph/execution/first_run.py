"""The first run of a plan, kernel by kernel: weights that lie elsewhere, such as in a file, and of which
kernels keep packed copies, are here while a kernel needs them.

While a kernel packs and computes, the next weights are read, and the pages of their copies are asked
of the system, on another core if there is one: a third of the time is neither products nor sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from texpr.graph.capture.variable import Variable, layout_of
from texpr.graph.execution.placement import Host
from texpr.graph.execution.prepacked import Prepacked
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.runtime.slabs import LEAST, Reused, touch
from texpr.support.background import Helper, Job

MOST_AHEAD = 1 << 26
"""Bytes of a weight that is read while another one is in memory."""
Failed = Callable[[Sequence[Launch]], Callable[[int], object]]
"""A function for some launches that raises the error of the one that failed."""


class FirstRun:
    """Launches, and the weights that lie elsewhere."""

    def __init__(self, placement: Host, packed: Prepacked, launches: Sequence[Launch]) -> None:
        self._placement, self._packed = placement, packed
        self._steps = list(_steps(launches, packed))
        self._last = {v: k for k, (_, own) in enumerate(self._steps) for v in own.values()}
        self._held: dict[Variable, np.ndarray] = {}
        self._memory = Reused()

    def run(self, name: str, arrays: Mapping[Tensor, Any], failed: Failed) -> None:
        """Run all launches.

        Args:
            arrays: all tensors but these weights.
        Raises:
            CheckpointError: the file of a weight has changed.
        """
        with Helper() as helper:
            jobs: list[Job] = []
            for k, (launches, own) in enumerate(self._steps):
                self._take(jobs, own)
                weights = {t: self._held[v].reshape(shape_of(t)) for t, v in own.items()}
                values = {**arrays, **weights} if own else arrays
                step = self._placement.sequence(name, (), launches, values, failed(launches))
                if own:
                    jobs = [helper.begin(job) for job in self._ahead(k)]
                with deferred_interrupts:  # a launch may write over what it reads
                    step()
                for v in [v for v in self._held if self._last[v] == k]:
                    self._memory.give_back(self._held.pop(v))

    def _take(self, jobs: Sequence[Job], own: Mapping[Tensor, Variable]) -> None:
        """Have the weights of a step, and nobody write to copies that its kernel makes."""
        if own and jobs:
            read, touched = jobs
            self._held |= read.result()
            touched.drop()
        self._held |= {v: v.held_in(self._memory.take) for v in self._missing(own)}

    def _missing(self, own: Mapping[Tensor, Variable]) -> list[Variable]:
        return [v for v in dict.fromkeys(own.values()) if v not in self._held]

    def _ahead(self, k: int) -> tuple[Callable[[], dict[Variable, np.ndarray]], Callable[[], None]]:
        """Functions that read what the next step with weights needs, and touch the copies that it makes."""
        launches, own = next((s for s in self._steps[k + 1 :] if s[1]), ((), {}))
        sizes = {v: layout_of(v).nbytes for v in self._missing(own) if v.is_deferred}
        missing = [(v, self._memory.take(size)) for v, size in sizes.items() if size <= MOST_AHEAD]
        copies = [c for n in launches for c in self._packed.copies_to_make(n) if c.nbytes >= LEAST]

        def read() -> dict[Variable, np.ndarray]:
            return {v: v.held_in(lambda size, found=found: found[:size]) for v, found in missing}

        def touch_copies() -> None:
            for copy in copies:
                touch(copy)

        return read, touch_copies


def _steps(
    launches: Sequence[Launch], packed: Prepacked
) -> Iterator[tuple[tuple[Launch, ...], dict[Tensor, Variable]]]:
    """Launches that run together, with weights that lie elsewhere: one with such weights is alone."""
    values = [(n, packed.values(n)) for n in launches]
    for alone, group in groupby(enumerate(values), lambda each: each[0] if each[1][1] else -1):
        found = [each for _, each in group]
        yield tuple(n for n, _ in found), found[0][1] if alone >= 0 else {}
