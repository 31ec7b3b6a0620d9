"""The first run of a plan, kernel by kernel: weights that lie elsewhere, such as in a file, and of which
kernels keep packed copies, are here while a kernel needs them.

While a kernel packs and computes, the next weights are read, and the pages of their copies are asked
of the system, on another core if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from texpr.graph.capture.variable import Variable, layout_of
from texpr.graph.execution.placement import Host, Step
from texpr.graph.execution.prepacked import Prepacked
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.runtime.slabs import LEAST, Reused, touch
from texpr.support.background import Helper, Job
from texpr.support.frozen_dataclass import frozen

MOST_AHEAD = 1 << 26
"""Bytes of a weight that is read while another one is in memory."""
Failed = Callable[[Sequence[Launch]], Callable[[int], object]]
"""A function for some launches that raises the error of the one that failed."""


class FirstRun:
    """Launches in parts, each of which begins with one that needs weights that lie elsewhere."""

    def __init__(self, placement: Host, packed: Prepacked, launches: Sequence[Launch]) -> None:
        self._placement, self._packed = placement, packed
        self._parts = _parts(launches, packed)
        self._last = {v: k for k, (_, own) in enumerate(self._parts) for v in own.values()}
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

            def begin(k: int) -> _Jobs:
                return self._begin(helper, k, name, arrays, failed)

            jobs = begin(0)
            for k in range(len(self._parts)):
                jobs.read.result()
                steps = jobs.steps.result()
                jobs.touched.drop()  # from here on the kernel has the copies for itself
                is_small = self._bytes_of(k + 1) <= MOST_AHEAD
                jobs = begin(k + 1) if is_small else jobs
                for step in steps:
                    with deferred_interrupts:  # a launch may write over what it reads
                        step()
                for v in [v for v in self._held if self._last[v] == k]:
                    self._memory.give_back(self._held.pop(v))
                jobs = jobs if is_small else begin(k + 1)

    def _begin(
        self, helper: Helper, k: int, name: str, arrays: Mapping[Tensor, Any], failed: Failed
    ) -> _Jobs:
        """Begin to make the steps of a part, to read its weights, and to touch the copies that it makes."""
        groups, own = self._parts[k] if k < len(self._parts) else ((), {})
        missing = self._missing(own)
        self._held |= {v: self._place(v) for v in missing}
        values = {**arrays, **{t: _seen(self._held[v], t) for t, v in own.items()}}
        copies = [c for n in chain(*groups) for c in self._packed.copies_to_make(n) if c.nbytes >= LEAST]

        def steps() -> list[Step]:
            return [self._placement.sequence(name, (), each, values, failed(each)) for each in groups]

        def read() -> None:
            for v in missing:
                _fill(self._held[v], v)

        def touch_copies() -> None:
            for copy in copies:
                touch(copy)

        return _Jobs(helper.begin(steps), helper.begin(read), helper.begin(touch_copies))

    def _place(self, variable: Variable) -> np.ndarray:
        """Bytes for the value of a variable, or those that it has."""
        if variable.is_deferred:
            return self._memory.take(layout_of(variable).nbytes)
        return variable.held().reshape(-1).view(np.uint8)

    def _missing(self, own: Mapping[Tensor, Variable]) -> list[Variable]:
        return [v for v in dict.fromkeys(own.values()) if v not in self._held]

    def _bytes_of(self, k: int) -> int:
        """Bytes of the weights that are to be read for a part."""
        return (
            sum(layout_of(v).nbytes for v in self._missing(self._parts[k][1])) if k < len(self._parts) else 0
        )


@frozen
class _Jobs:
    """Preparations for a part, which another thread may have begun."""

    steps: Job[list[Step]]
    read: Job[None]
    touched: Job[None]


def _fill(memory: np.ndarray, variable: Variable) -> None:
    """Let memory have the value of a variable, which may lie here by now."""
    found = variable.held_in(lambda size: memory)
    if not np.may_share_memory(found, memory):
        memory[...] = found.reshape(-1).view(np.uint8)


def _seen(memory: np.ndarray, tensor: Tensor) -> np.ndarray:
    """The value in some memory as a kernel sees it."""
    return memory.view(numpy_dtype(tensor.dtype)).reshape(shape_of(tensor))


def _parts(
    launches: Sequence[Launch], packed: Prepacked
) -> list[tuple[Sequence[Sequence[Launch]], dict[Tensor, Variable]]]:
    """Groups of launches that run together, and the weights that each part of them needs: the first
    launch of a part does, and is alone in its group.
    """
    found: list[tuple[list[list[Launch]], dict[Tensor, Variable]]] = [([[]], {})]
    for launch in launches:
        own = packed.values(launch)
        if own:
            found.append(([[launch], []], own))
        else:
            found[-1][0][-1].append(launch)
    return [([each for each in groups if each], own) for groups, own in found]
