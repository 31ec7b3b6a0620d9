"""Loops that are one run of memory become one."""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.nest import Nest, boundary_iterations, depends_on_index, extent, find_nests
from texpr.autoschedule.core.template import NoMatch, Rewritten, Stage, Template
from texpr.autoschedule.cpu.elementwise.nontemporal import rows_together
from texpr.autoschedule.cpu.gemm.collapsed_rows import collapse_small_product
from texpr.autoschedule.cpu.producer_chains import serves_rows
from texpr.ir.build import integer
from texpr.support.frozen_dataclass import replace


class CollapsedLoops:
    """Neighbouring loops over elements that walk through all memory of the statement as one become
    one: the last ones, and short rows of a product; then templates are tried anew.

    Args:
        again: those that are tried on the joined loops, before the ones that follow this.
    """

    name, stage = "CollapsedLoops", Stage.NESTS

    def __init__(self, again: tuple[Template, ...] = ()) -> None:
        self.again = again

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if it has two loops that may be joined."""
        return (
            nest
            if len(nest.spatial) >= 2 and not nest.recurrent
            else NoMatch("fewer than two loops over elements, or a recurrence")
        )

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Rewritten | NoMatch:
        """Join the loops."""
        nest = collapse_small_product(builder, collapse_contiguous(builder, match))
        return (
            NoMatch("no loops that walk through memory as one")
            if nest is match
            else Rewritten(nest, self.again)
        )


def collapse_contiguous(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """Join neighbouring loops that walk through all memory of the statement as one, if no loops
    of a user are to be joined with them.
    """
    while len(nest.spatial) >= 2 and not nest.recurrent and not serves_rows(builder, nest):
        outer, inner = nest.spatial[-2:]
        size = integer(inner.extent)
        if (
            not nest.reduction
            and size is not None
            and size >= 2 * builder.vector_lanes(nest)
            and rows_together(builder, nest, inner) is not None
        ):
            break
        if not are_one(nest, outer, inner):
            break
        both = outer, inner
        if (
            any(boundary_iterations(nest, loop) != (0, 0) for loop in both)
            or extent(inner) >= builder.vector_lanes(nest)
            and depends_on_index(nest, both)
        ):
            # joined, guards and clamps at the edges would be everywhere, and what asks for an
            # iteration would divide for it
            break
        name = outer.var.name + inner.var.name
        if not builder.try_fuse(outer, inner, name):
            break
        found = next(
            n
            for n in find_nests(builder.kernel)
            if n.main.equation == nest.main.equation and n.spatial[0].tensor == outer.tensor
        )
        nest = replace(found.below(len(nest.outer)), parts=nest.parts)
    return nest
