"""Tuned numbers of default schedules as data: costs of operations, caches and threads.

Each number has a unit and a source (`tuned`). Numbers that several folders share stand here, those of
one folder in a record of its own there (`*_costs`). `docs/developer/costs.md` shows all of them. Sizes
that an instruction or a cache has, and that nobody chooses, are no costs: they are constants of
their modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def tuned(value: Any, unit: str, source: str, measured: str = "") -> Any:
    """A tuned number, as a field of a cost model.

    Args:
        unit: of the number: "operations", "bytes", "rows", "share of L2".
        source: a paper, a property of hardware, or "times of kernels" with their kind.
        measured: processor, where it is recorded, and date (`Zen 5, 2026-08`); empty where nothing
            was measured.
    """
    return field(default=value, metadata={"unit": unit, "source": source, "measured": measured})


class CostModel:
    """Base of the records of tuned numbers, whose fields are all `tuned`."""


_TIMES = "times of kernels; processor not recorded"


@dataclass(frozen=True)
class CommonCosts(CostModel):
    """Costs and thresholds that several folders share.

    Operations count arithmetic of an element.
    """

    # core.cost
    store_and_load: int = tuned(12, "operations", _TIMES, "2026-11-20")
    """One store and one load of an element that stays near."""
    memory_round_trip: int = tuned(40, "operations", _TIMES, "2026-11-22")
    """The same of an element that goes to memory and comes back."""
    function: int = tuned(20, "operations", _TIMES, "2026-11-20")
    """A function of an element. What takes as long hides that the next elements are fetched."""
    division: int = tuned(4, "operations", _TIMES, "2026-11-20")
    """A quotient, a whole quotient or a remainder."""
    power: int = tuned(40, "operations", _TIMES, "2026-11-20")
    """A power."""
    register_operations: int = tuned(16, "operations", "counts of registers for constants; no times recorded")
    """Operations of an element, up to which its constants leave registers free, where instructions
    take none from memory."""
    longest_inlined: int = tuned(
        96,
        "operations",
        "time of compilation: an expression of 40 functions took LLVM 38 s; processor not recorded",
        "2026-11-27",
    )
    """Operations of an element, beyond which it stays in loops of its own: storing it costs little
    then, and chains of such elements would make one long expression. Four functions and what is
    around them."""
    # core.nest
    strided_vector: int = tuned(1, "cost of an access", _TIMES, "2026-11-22")
    """A vector of every second element, against 0 for one of neighbours."""
    gathered_vector: int = tuned(4, "cost of an access", _TIMES, "2026-11-22")
    """A vector of elements anywhere."""
    typical_extent: int = tuned(1024, "iterations", "an assumption; no times recorded")
    """Iterations of a loop whose extent only the call knows."""
    # cpu.parallelize, cpu.schedule_cpu, graph.execution.placement
    parallel_work: int = tuned(1 << 16, "statement instances", _TIMES, "2026-11-20")
    """Statement instances below which waking another thread costs more than it saves (about 10 us
    of work)."""
    # cpu.elementwise, cpu.finishing.row_pairs
    fetch_operations: int = tuned(16, "operations", _TIMES, "2026-11-23")
    """Operations of an element, up to which it takes as long to fetch as to compute: two rows that
    have less in common, and four vectors of a row, are worth the code."""


COSTS = CommonCosts()
"""The costs that folders of default schedules share."""
