"""Tuned numbers of default schedules as data: what operations, caches and threads are taken to
cost.

Each number has a unit and a source (`tuned`). The numbers of all templates stand here, those of one
folder in a record of its own beside them. Sizes that an instruction or a cache has, and that
nobody chooses, are no costs: they are constants of their modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


def tuned(value: Any, unit: str, source: str, measured: str = "") -> Any:
    """A tuned number, as a field of a cost model.

    Args:
        unit: of the number: "operations", "bytes", "rows", "share of L2".
        source: a paper, a property of hardware, or "times of kernels" with their kind.
        measured: processor and date (`Zen 5, 2026-08`), where they are recorded.
    """
    return field(default=value, metadata={"unit": unit, "source": source, "measured": measured})


class CostModel:
    """Base of the records of tuned numbers, whose fields are all `tuned`.

    Attributes:
        records: all of them.
    """

    records: ClassVar[list[type[CostModel]]] = []

    def __init_subclass__(cls) -> None:
        CostModel.records.append(cls)


@dataclass(frozen=True)
class CommonCosts(CostModel):
    """Costs and thresholds that several folders share.

    Operations count arithmetic of an element; a part of a cache is one of so many equal ones.
    """

    # core.cost
    store_and_load: int = 12
    """Operations: one store and one load of an element that stays near are worth so many."""
    memory_round_trip: int = 40
    """Operations: the same of an element that goes to memory and comes back."""
    function: int = 20
    """Operations that a function of an element counts as."""
    crowded: int = 16
    """Operations of an element whose constants fill many registers, where instructions take none
    from memory."""
    longest_inlined: int = 96
    """Operations of an element that stay in loops of their own: storing it costs little then, and
    chains of such elements would make one expression that LLVM takes minutes for. Four functions
    and what is around them."""
    # core.nest
    strided_vector: int = 1
    """Of a vector of every second element, against 0 for one of neighbours."""
    gathered_vector: int = 4
    """Of a vector of elements anywhere."""
    # cpu.parallelize
    parallel_work: int = 1 << 16
    """Statement instances below which waking another thread costs more than it saves (about 10 us
    of work)."""
    least_shared: int = 1 << 13
    """Of them, each time that a loop inside of others starts, below which threads that are awake
    wait for each other longer than they work."""
    chunk: int = 1 << 14
    """Statement instances of a chunk of one long loop."""
    # cpu.reduction.reduction
    mostly_empty_vector: int = 3
    """Of a vector that is mostly empty, as `strided_vector` and `gathered_vector`."""
    repeated_operand_l1s: int = 4
    """First caches that an operand must fill for its terms to be added in blocks by recurrences."""
    # cpu.elementwise, cpu.finishing.row_pairs
    as_long_as_fetching: int = 16
    """Operations of an element, up to which it takes as long to fetch as to compute: two rows that
    have less in common, and four vectors of a row, are worth the code."""
    # cpu.elementwise.nontemporal
    common_rows_l1_part: int = 4
    """One part of so many of the first cache is what all rows may use in common, to find it
    there again.
    """
    operations_per_byte: float = 0.5
    """Operations for a byte of inputs and outputs, below which a kernel waits for memory and not
    for arithmetic."""
    # cpu.elementwise.transpose
    transpose_blocks: int = 2
    """Blocks of transposed squares for each core, at least."""
    transpose_row_bytes: int = 2048
    """Bytes of a row that are read one after the other, which memory gives faster than lines of
    their own: squares that come together."""
    # cpu.reduction.split_reduction
    few_elements: int = 16
    """Elements of a reduction's target that are too few to be shared among threads."""
    many_terms: int = 1 << 18
    """Terms of all sums, from which on these are cut into parts."""
    # cpu.finishing.prefetch
    prefetch_distances: int = 4
    """Times the distance of a prefetch, from where on a loop is long enough."""
    prefetch_l2_part: int = 8
    """One part of so many of the second cache, which a row and the next one may fill beside all
    else.
    """
    prefetch_bytes: int = 1024
    """Bytes from a vector to the one that is asked for meanwhile."""
    # cpu.recurrence.wavefront
    wavefront_iterations: int = 64
    """Iterations of a row for which the start and the end of a wavefront, where few rows run, do
    not matter."""
    wavefront_rows: int = 8
    """Rows that follow each other at a distance."""
    recurrence_chains: int = 4
    """Rows side by side: as many chains as keep a divider busy, or sums nearly so."""
    # rewrites.choose
    reciprocal_uses: int = 16
    """Elements that are divided by one number, from which on its reciprocal is worth a place of
    its own.
    """


COSTS = CommonCosts()
"""The costs of all default schedules."""
