"""Long sums of few elements: parts of each are computed on their own, as many whatever the number
of threads, and added in a few chains.

    for i: s += f(i)   ->   for io: { p[io] = 0;  for ii: p[io] += f(io, ii) };  for io: s += p[io]

A sum that is too long for so many parts is added in rounds: no sum keeps more of them.
"""

from __future__ import annotations

from functools import partial
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.handles import LoopHandle, handle, sum_loop
from texpr.autoschedule.core.nest import Nest, boundary_iterations, extent, find_nests
from texpr.autoschedule.core.template import NO_REDUCTION, NoMatch, Rewritten, Stage
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.loop import For
from texpr.schedule.structure.loops import free_name
from texpr.support.frozen_dataclass import replace


class SplitReduction:
    """Long sums of few elements, in parts: the nest that adds the terms of each part goes on to
    other templates.
    """

    name, stage = "SplitReduction", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if its sums are long and few."""
        if not nest.reduction:
            return NO_REDUCTION
        elements = nest.work // max(1, prod(map(extent, nest.reduction)))
        if elements >= REDUCTION_COSTS.few_elements or nest.work < REDUCTION_COSTS.many_terms:
            return NoMatch("enough sums for all threads, or short ones")
        return NoMatch("a recurrence") if nest.recurrent else nest

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Rewritten | None:
        """Cut the longest loop over terms; where that cannot be, neighbouring loops over terms
        are joined all the same.
        """
        nest = _along_memory(builder, match)
        found = builder.transaction(partial(_cut, builder, nest)) or nest
        return None if found is match else Rewritten(found)


def _cut(builder: ScheduleBuilder, nest: Nest) -> Nest | None:
    terms = _cut_loop(nest, builder.vector_lanes(nest))
    loop, length = handle(terms), -(-extent(terms) // REDUCTION_COSTS.parts)
    rounds = None
    if length > REDUCTION_COSTS.part_terms:
        rounds, loop = builder.split_if_longer(
            loop, REDUCTION_COSTS.parts * REDUCTION_COSTS.part_terms, "guard"
        )
        length = REDUCTION_COSTS.part_terms
    chain, lanes = REDUCTION_COSTS.chain_terms, builder.vector_lanes(nest)
    whole = next((n for n in (4 * lanes * chain**k for k in (2, 1, 0)) if length >= 4 * n), 1)
    outer, _ = builder.split_if_longer(loop, -(-length // whole) * whole, "guard")
    if rounds:
        builder.try_apply("reorder", rounds, outer)
    if outer is None:
        return None
    parts = builder.new_buffer("rfactor", outer, reassoc=True)
    builder.transaction(partial(_added_in_lanes, builder, sum_loop(outer), builder.vector_lanes(nest)))
    added = next(
        (n for n in find_nests(builder.kernel) if n.main.tensor is parts and n.main.update is not None), None
    )
    return (
        None if added is None else replace(added, parts=outer)
    )  # Loops that folding shows to be empty are gone.


def _cut_loop(nest: Nest, lanes: int) -> For:
    """The loop over terms that is cut: the longest one; if its parts would be a few vectors, the
    outermost one that has as many parts.
    """
    longest = max(nest.reduction, key=extent)
    if extent(longest) >= REDUCTION_COSTS.parts * REDUCTION_COSTS.chain_terms * lanes:
        return longest
    return next((n for n in nest.reduction if extent(n) >= REDUCTION_COSTS.parts), longest)


def _along_memory(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """Neighbouring loops over terms that walk through all memory as one are one loop: parts are
    runs of memory then.
    """
    while (
        pair := next((p for p in zip(nest.reduction, nest.reduction[1:]) if _is_run(nest, *p)), None)
    ) is not None:
        outer, inner = pair
        name = free_name(builder.kernel, outer.tensor, outer.var.name + inner.var.name)
        if not builder.try_fuse(outer, inner, name):
            break
        nest = next(
            n
            for n in find_nests(builder.kernel)
            if n.main.equation == nest.main.equation and n.label == nest.label
        )
    return nest


def _is_run(nest: Nest, *pair: For) -> bool:
    """True if two loops over terms walk through all memory of the statement as one, without
    edges.
    """
    return are_one(nest, *pair) and all(boundary_iterations(nest, n) == (0, 0) for n in pair)


def _added_in_lanes(builder: ScheduleBuilder, parts: LoopHandle, lanes: int) -> LoopHandle:
    """Add the sums of parts in a few chains side by side; the loop over the chains."""
    _, chains = builder.split(parts, lanes)
    builder.apply("rfactor", chains, reassoc=True)
    builder.apply("vectorize", chains)
    builder.apply("vectorize", sum_loop(chains))
    return chains
