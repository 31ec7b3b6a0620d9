"""Copies of variables, in the order in which kernels read them, which these keep from run to run.

Weights of networks change seldom, and are read in another order than they lie in. A kernel that
copies them does so in the first run; later runs use the copies, until a variable changes. Changes
through texpr are announced. Who has the array of a variable may write to it at any time: its copies
are made anew in each run then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from texpr.graph.capture.variable import Variable
from texpr.graph.execution.placement import Placement
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor


class Prepacked:
    """The copies that the kernels of a plan keep.

    Attributes:
        arrays: where they lie, and the bytes that say whether they are there.
        stale: true if a variable may have changed since they were made.
    """

    def __init__(
        self, placement: Placement, launches: Sequence[Launch], variables: Iterable[Variable]
    ) -> None:
        kept = [n.prepacked for n in launches if n.prepacked]
        done = [t for *_, t in kept]
        self.arrays: dict[Tensor, Any] = {
            t: placement.view(placement.block(*shape_of(t)), 0, t) for *copies, _ in kept for t in copies
        }
        self.arrays |= {t: placement.zeros(t) for t in done}
        self._done = [self.arrays[t] for t in done]
        self._variables = tuple(variables) if kept else ()
        self.stale = False
        for v in self._variables:
            v.watch(self)
        self.stale = self.stale or any(v.exposed for v in self._variables)

    def renew(self) -> None:
        """Let the next run make the copies anew. Changes from here on are of the run after it."""
        self.stale = False
        for each in self._done:
            each[0] = 0
        if any(v.exposed for v in self._variables):
            self.stale = True
