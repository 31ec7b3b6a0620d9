"""Equations whose elements lie between each other in memory: one loop computes them side by side,
and vectors of them are written whole.

    D[2*i] = a; D[2*i + 1] = b   ->   for i vector: D[2*i] = a; D[2*i + 1] = b

Such are the gradients of what steps over its input, an equation for each remainder. Alone, each
would be written lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import handles
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import Among, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.elementwise.elementwise_costs import ELEMENTWISE_COSTS
from texpr.ir.affine import linear
from texpr.ir.build import sub
from texpr.ir.loop import For
from texpr.ir.traverse import substitute
from texpr.passes.analysis.row_major import flat_index

FACTORS = (2, 4, 8, 16)
"""Vectors of equations that shuffles interleave: a power of two, at most the lanes of a register."""


class InterleavedStores:
    """Nests that follow each other and write elements between each other's: one loop over
    vectors computes all of them.
    """

    name, stage = "InterleavedStores", Stage.GROUPS

    def match(self, builder: ScheduleBuilder, subject: Among) -> list[Nest] | NoMatch:
        """The nests of a group that begins with this one."""
        if not builder.machine.vector_bytes:
            return NoMatch("a machine without vectors")
        at = next(k for k, n in enumerate(subject.nests) if n is subject.nest)
        return _woven(subject.nests[at:]) or NoMatch(
            "no neighbours of what it stores are stored by nests behind it"
        )

    def apply(self, builder: ScheduleBuilder, match: list[Nest]) -> Scheduled:
        """Compute the elements in the loops of the last nest, then vectors of them."""
        nest = match[-1]
        for each in match[:-1]:
            builder.apply("compute_at", each.label, nest.spatial[-1], recompute=False)
        *rest, vector = handles(nest.spatial)
        outer, inner = builder.split_if_longer(
            vector, ELEMENTWISE_COSTS.interleaved_registers * builder.vector_lanes(nest)
        )
        builder.try_apply("vectorize", inner)
        return Scheduled([*rest, *([outer] if outer else [])], members=tuple(match))


def _woven(nests: Sequence[Nest]) -> list[Nest]:
    """The first nests, if together they write all elements along their innermost loop."""
    first = nests[0]
    step = _step(first)
    group = list(nests[:step])
    if step not in FACTORS or len(group) < step:
        return []
    base = flat_index(first.main.tensor, first.main.indices).expr()
    for k, nest in enumerate(group):
        if nest.main.tensor is not first.main.tensor or _step(nest) != step or not _alike(first, nest):
            return []
        renamed = {n.var: m.var for n, m in zip(_loops(nest), _loops(first))}
        offset = linear(
            sub(substitute(flat_index(nest.main.tensor, nest.main.indices).expr(), renamed), base)
        )
        if offset.terms or offset.constant != k:
            return []
    return group


def _step(nest: Nest) -> int:
    """Distance in memory of the stores of neighbours along the innermost loop; 0 where the nest is
    no plain one.
    """
    plain = not (nest.reduction or nest.recurrent or nest.enclosing_loops or nest.main.update) and bool(
        nest.spatial
    )
    return (
        (nest.accesses[0].stride(nest.spatial[-1].var) or 0)
        if plain and constant_extent(nest.spatial[-1]) > 1
        else 0
    )


def _loops(nest: Nest) -> tuple[For, ...]:
    return (*nest.outer, *nest.spatial)


def _alike(a: Nest, b: Nest) -> bool:
    extents = [[constant_extent(n) for n in _loops(nest)] for nest in (a, b)]
    return extents[0] == extents[1] and 0 not in extents[0]
