"""Lanes over elements of which there is no whole number of registers, where each of some rows keeps
its sums in registers of its own.

What is left over runs in registers of fewer and fewer lanes, powers of two: 23 lanes are four
registers of 16, 4, 2 and 1. Where all rows together then have more sums than there are registers,
the last tile begins earlier instead, and computes some elements again.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle
from texpr.autoschedule.core.nest import Nest, boundary_iterations, extent
from texpr.ir.build import integer
from texpr.ir.loop import For


def cut_lanes(
    builder: ScheduleBuilder, nest: Nest, lane: For, registers: int, rows: int
) -> tuple[LoopHandle | None, LoopHandle]:
    """Cut the loop over lanes into tiles of so many registers for each of so many rows; the outer
    loop, None if there is none, and the inner one.
    """
    lanes, count = builder.vector_lanes(nest), extent(lane)
    width = registers * lanes
    if not builder.machine.has_memory_operands:  # what fills no register is made of parts of several
        overlaps = lanes < count < width and count % lanes
        return (
            builder.split_if_longer(lane, lanes, "overlap")
            if overlaps
            else builder.split_if_longer(lane, width)
        )
    again = (
        rows > 1
        and count > lanes
        and not nest.recurrent
        and integer(lane.extent) is not None
        and boundary_iterations(nest, lane) == (0, 0)
    )
    if not again or _sums(count % width, lanes, rows) <= builder.machine.vector_registers:
        return builder.split_if_longer(lane, width)
    return builder.split_if_longer(lane, width if count > width else lanes, "overlap")


def _sums(count: int, lanes: int, rows: int) -> int:
    """Registers for the sums of so many lanes of each row, a register of an operand for each of
    these, and a value for all lanes.
    """
    pieces = count // lanes + (count % lanes).bit_count()
    return pieces * rows + pieces + 1
