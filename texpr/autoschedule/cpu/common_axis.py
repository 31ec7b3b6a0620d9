"""Nests that have an axis in common which is not the outermost one in all of them: it becomes so.

    V[a, c, t] = f(E[c, t + a]); E[c, t] = g(X[c, t])   ->   for c: (for t: E ...), (for a, t: V ...)

One iteration computes a slice of each intermediate from the same slices of those before it. So the
slices stay in the caches of a core, where whole intermediates would go to memory and back, and all
nests are one loop for threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch, Stage
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.ir.expr import Tensor
from texpr.ir.loop import For
from texpr.schedule.structure.tensors import bytes_of


class CommonAxis:
    """Nests without sums, each of which reads only its own slice of what the others compute."""

    name, stage = "CommonAxis", Stage.CHAINS

    def match(self, builder: ScheduleBuilder, nests: Sequence[Nest]) -> list[tuple[Nest, For]] | NoMatch:
        """The nests with their loops over slices."""
        if len(nests) < 2 or not all(map(_is_plain, nests)):
            return NoMatch("one nest, or sums and recurrences")
        if any(builder.is_kept(n.main.tensor) for n in nests):
            return NoMatch("a nest that does not run again")
        kernel = builder.kernel
        size = sum(map(bytes_of, kernel.temporaries))
        if size <= builder.l2_budget:
            return NoMatch("intermediates stay near as they are")
        for loop in nests[-1].spatial:
            found = _slices(nests, loop, set(kernel.temporaries))
            least, most = CPU_COSTS.least_slice_bytes, builder.l2_budget
            if found is not None and least <= size // constant_extent(loop) <= most:
                if all(n.spatial[0] is own for n, own in found):
                    break
                return found
        return NoMatch("no common axis, or it is the outermost one")

    def apply(self, builder: ScheduleBuilder, match: Sequence[tuple[Nest, For]]) -> Mapping[str, int]:
        """Make it the outermost loop of all; by label, in how many loops a nest is joined."""
        for nest, loop in match:
            before = nest.spatial[: next(k for k, n in enumerate(nest.spatial) if n is loop)]
            if before:
                builder.apply("reorder", loop, *before)
        return {nest.label: 1 for nest, _ in match}


def _is_plain(nest: Nest) -> bool:
    """True if a nest computes elements that do not depend on each other."""
    return not (nest.reduction or nest.recurrent or nest.enclosing_loops or nest.outer or nest.main.update)


def _slices(nests: Sequence[Nest], last: For, intermediates: set[Tensor]) -> list[tuple[Nest, For]] | None:
    """The loops of all nests that run over the same slices as a loop of the last one does; None
    where a nest has no such loop, or needs other slices.
    """
    axes: dict[Tensor, int] = {}
    found: list[tuple[Nest, For]] = []
    for nest in reversed(nests):
        loop = last if nest is nests[-1] else _along(nest, axes)
        if loop is None or not constant_extent(loop) or constant_extent(loop) != constant_extent(last):
            return None
        if nest.accesses[0].stride(loop.var) in (1, None):
            return None  # its slices have no rows
        found.insert(0, (nest, loop))
        for access in nest.accesses if nest is nests[-1] else nest.accesses[1:]:
            places = [k for k, i in enumerate(access.indices) if i is loop.var]
            if access.tensor in intermediates or access.tensor is nests[-1].main.tensor:
                if not places or axes.setdefault(access.tensor, places[0]) not in places:
                    return None
    return found


def _along(nest: Nest, axes: Mapping[Tensor, int]) -> For | None:
    """The loop of a nest along the axis of what it stores."""
    axis = axes.get(nest.main.tensor)
    at = None if axis is None else nest.accesses[0].indices[axis]
    return next((n for n in nest.spatial if n.var is at), None)
