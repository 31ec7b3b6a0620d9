"""Nests without reductions: the vector loop with the fewest gathers, boundary cases apart."""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import exceeds_registers, operations, prefers_own_loop, same_pattern_stores
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu import scalable_vectors
from texpr.autoschedule.cpu.elementwise.elementwise_costs import ELEMENTWISE_COSTS
from texpr.autoschedule.cpu.elementwise.nontemporal import past_caches, rows_together, waits_by_halves
from texpr.ir.build import integer
from texpr.ir.expr import Compare
from texpr.ir.loop import For, Store
from texpr.ir.traverse import tensors, walk
from texpr.support.frozen_dataclass import frozen


class VectorizedElements:
    """Nests without reductions: lanes along the loop with the fewest gathers, several rows of
    them where these read the same.
    """

    name, stage = "VectorizedElements", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> _Elements | NoMatch:
        """The loop that becomes lanes."""
        if nest.reduction or not nest.spatial:
            return NoMatch("a sum or a recurrence" if nest.reduction else "no loop over elements")
        best = min(
            reversed(nest.spatial), key=lambda n: (nest.cost(n), extent(n) < builder.vector_lanes(nest))
        )
        if not builder.machine.vector_bytes or extent(best) <= 1:
            return NoMatch("a machine without vectors, or one element")
        if tensors(best.extent) and not builder.can_apply("vectorize", best):
            return NoMatch("rows of data whose elements meet")
        return _Elements(nest, best)

    def apply(self, builder: ScheduleBuilder, match: _Elements) -> Scheduled:
        """The steps."""
        return Scheduled(_vectorized(builder, match.nest, match.lane))


@frozen
class _Elements:
    """A nest and the loop whose iterations become lanes."""

    nest: Nest
    lane: For


def _vectorized(builder: ScheduleBuilder, nest: Nest, best: For) -> list[LoopHandle]:
    """Vectorize a loop; the outer loops."""
    together = (
        None if exceeds_registers(nest.main.value, builder.machine) else rows_together(builder, nest, best)
    )
    rows, count = together or (None, 0)
    # As many registers for all tensors of a shape: what is computed element by element runs in one
    # loop then.
    beside = same_pattern_stores(builder.kernel, nest.main.tensor)
    peel_boundaries(builder, nest, best)
    registers, most, halves = _registers(builder, nest, best, rows, beside)
    if scalable_vectors.wanted(builder):
        longer = scalable_vectors.elements(builder, nest, best, together, most)
        if longer is not None:
            return longer
    outer, inner = builder.split_if_longer(best, registers * builder.vector_lanes(nest))
    rest, row = handles(n for n in nest.spatial if n is not best), None
    if rows is not None:
        row_outer, row = builder.split_if_longer(rows, count)
        at = rest.index(handle(rows))
        rest[at : at + 1] = [row_outer] if row_outer else []
    rest += [outer] if outer else []
    inside = [row, inner] if row else [inner]
    if (
        (rest or row)
        and (row or best is not nest.spatial[-1])
        and builder.try_apply("reorder", *rest, *inside)
        and row
    ):
        builder.try_apply("unroll", row)
    strips, inner = (
        builder.split_if_longer(inner, builder.vector_lanes(nest) // 2) if halves else (None, inner)
    )
    builder.try_apply("vectorize", inner)
    if strips:
        builder.try_apply("unroll", strips)
    for loop in nest.spatial:
        if (
            loop is not best
            and loop is not rows
            and _has_boundary_cases(nest, loop)
            and builder.try_apply("unroll", loop)
        ):
            rest.remove(handle(loop))
    return rest


def _registers(
    builder: ScheduleBuilder, nest: Nest, lane: For, rows: For | None, beside: list[Store]
) -> tuple[int, int, bool]:
    """Registers of elements in an iteration, the same where registers have any length, and
    whether elements come by halves of registers.
    """
    light = rows is None and all(operations(s.value) <= COSTS.fetch_operations for s in beside)
    # A loop of unknown length ends in a masked iteration, which one register makes cheap.
    far = nest.main.tensor.name in past_caches(builder)
    one = integer(lane.extent) is None or any(prefers_own_loop(s, builder.machine, far) for s in beside)
    halves = light and not one and waits_by_halves(builder, nest)
    registers = 1 if one else 4 if light and not halves else 2
    return registers, 4 if light else registers, halves


def _has_boundary_cases(nest: Nest, loop: For) -> bool:
    """True if the statement compares a loop of few iterations with numbers: copies of the loop then
    compute only their own case.
    """
    return 1 < constant_extent(loop) <= ELEMENTWISE_COSTS.unrolled_cases and any(
        isinstance(n, Compare) and n.op == "==" and loop.var in (n.lhs, n.rhs) for n in walk(nest.main.value)
    )


def peel_boundaries(builder: ScheduleBuilder, nest: Nest, loop: For) -> None:
    """Peel the edges of a long vector loop off, so that the rest needs no masks and no gathers."""
    first, last = boundary_iterations(nest, loop)
    if first + last and extent(loop) >= 4 * builder.vector_lanes(nest) + first + last:
        builder.try_apply("peel", loop, first, last)
