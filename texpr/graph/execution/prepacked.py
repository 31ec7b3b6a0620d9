"""Copies of variables, in the order in which kernels read them, which these keep from run to run.

Weights of networks change seldom, and are read in another order than they lie in. A kernel that
copies them does so in the first run; later runs use the copies, until a variable changes. A launch
that computes from variables alone runs once in the same way. Changes through texpr are announced. Who
has the array of a variable may write to it at any time: its copies are made anew in each run then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from texpr.graph.capture.variable import Variable, array_of
from texpr.graph.execution.placement import Placement
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.launch_sequence import Launch
from texpr.ir.expr import Tensor
from texpr.runtime.gpu import HOST


class Prepacked:
    """The copies that the kernels of a plan keep.

    Attributes:
        once: launches of variables alone, in order, whose outputs are kept.
        arrays: where copies and these outputs lie, and the bytes that say whether copies are there.
        stale: true if a variable may have changed since they were made.
        awaited: true if the launches of `once` have to run.
        unread: variables whose arrays no launch reads once all this is there.
        is_first: true if the next run is the first one, and some of `unread` lie elsewhere.
    """

    def __init__(
        self,
        placement: Placement,
        launches: Sequence[Launch],
        variables: Mapping[Variable, Tensor],
        results: Collection[Tensor],
        views: Mapping[Tensor, Tensor],
    ) -> None:
        """Allocate.

        Args:
            launches: of one run, in order.
            results: tensors that a run gives away.
            views: tensors that are other tensors' memory.
        """
        kept = [*dict.fromkeys(n.prepacked for n in launches if n.prepacked)]
        self._packing = {n.prepacked: n for n in reversed(launches)}
        done = [t for *_, t in kept]
        self.once = _run_once(launches, results, views) if placement.name == HOST else ()
        copies = [*(t for *copies, _ in kept for t in copies), *(t for n in self.once for t in n.outputs)]
        self.arrays: dict[Tensor, Any] = {
            t: placement.view(placement.block(tensor_bytes(t)), 0, t) for t in copies
        }
        self.arrays |= {t: placement.zeros(t) for t in done}
        self._done = [self.arrays[t] for t in done]
        self._variables = tuple(variables) if self.arrays else ()
        self.stale, self.awaited = False, bool(self.once)
        for v in self._variables:
            v.watch(self)
        self.stale = self.stale or any(v.exposed for v in self._variables)
        self._views, self._tensors = views, variables
        self.unread = self._unread(launches, results) if self.arrays and placement.name == HOST else ()
        self.is_first = any(v.is_deferred for v in self.unread)

    def _unread(self, launches: Sequence[Launch], results: Collection[Tensor]) -> tuple[Variable, ...]:
        later = [n for n in launches if n not in self.once]
        tensors = (t for n in later for k, t in enumerate(n.inputs) if k not in n.packed)
        read = {self._views.get(t, t) for t in (*tensors, *results)}
        return tuple(v for v, t in self._tensors.items() if t not in read)

    def values(self, launch: Launch) -> dict[Tensor, Variable]:
        """The inputs of a launch that are, or lie in, variables of `unread`, in the first run: what
        another launch has packed before it is not read again.
        """
        owner = {self._tensors[v]: v for v in self.unread}
        packed = launch.packed if self._packing[launch.prepacked] is not launch else ()
        read = (t for k, t in enumerate(launch.inputs) if k not in packed)
        found = {t: owner.get(self._views.get(t, t)) for t in read}
        return {t: v for t, v in found.items() if v is not None}

    def copies_to_make(self, launch: Launch) -> list[Any]:
        """Memory for the copies of a launch; none if they are there, or another launch makes them."""
        *copies, done = launch.prepacked or (None,)
        if done is None or self.arrays[done][0] or self._packing[launch.prepacked] is not launch:
            return []
        return [self.arrays[t] for t in copies]

    def complete(self) -> None:
        """Say that a run has made all copies."""
        self.is_first = self.awaited = False

    def renew(self) -> None:
        """Let the next run make the copies anew. Changes from here on are of the run after it. Variables
        that change once may do so again: all of them lie here from then on.
        """
        for v in self.unread:
            array_of(v)
        self.stale, self.awaited, self.is_first = False, bool(self.once), False
        for each in self._done:
            each[0] = 0
        if any(v.exposed for v in self._variables):
            self.stale = True


def _run_once(
    launches: Sequence[Launch], results: Collection[Tensor], views: Mapping[Tensor, Tensor]
) -> tuple[Launch, ...]:
    """The launches whose outputs are kept, in order: what they read is kept too."""
    found: list[Launch] = []
    made_anew: set[Tensor] = set()
    for n in launches:
        if _runs_once(n, results) and not any(views.get(t, t) in made_anew for t in n.inputs):
            found.append(n)
        else:
            made_anew.update(n.outputs)
    return tuple(found)


def _runs_once(launch: Launch, results: Collection[Tensor]) -> bool:
    """True if the outputs of a launch are kept: it computes them from variables that do not change, and
    they take no more memory than these.
    """
    return (
        launch.is_constant
        and not launch.prepacked
        and not any(t in results for t in launch.outputs)
        and sum(map(tensor_bytes, launch.outputs)) <= sum(map(tensor_bytes, launch.inputs))
    )
