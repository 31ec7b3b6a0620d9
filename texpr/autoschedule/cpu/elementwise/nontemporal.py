"""Elements that wait for memory: rows side by side or not, halves of registers, outputs that are
written past the caches.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import iterations, operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.cpu.elementwise.elementwise_costs import ELEMENTWISE_COSTS
from texpr.autoschedule.cpu.gemm.packing import LINE
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Store
from texpr.passes.analysis.row_major import row_length
from texpr.schedule.structure.loops import paths
from texpr.schedule.structure.tensors import bytes_of


def past_caches(builder: ScheduleBuilder) -> list[str]:
    """Outputs that are written past the caches: those would not hold what the kernel uses, and rows
    begin at whole lines.

    What waits for memory gains much where all caches together hold what it uses; behind arithmetic,
    memory is idle anyway.
    """
    caches, used = builder.machine.caches, _used(builder)
    if not builder.machine.prefers_nontemporal_stores or not caches or used < caches[-1]:
        return []
    if used <= sum(caches) and _arithmetic(builder) < ELEMENTWISE_COSTS.operations_per_byte * used:
        return []
    return [t.name for t in builder.kernel.outputs if bytes_of(t) > caches[:2][-1] and _is_in_lines(t)]


def rows_together(builder: ScheduleBuilder, nest: Nest, vector: For) -> tuple[For, int] | None:
    """The loop whose neighbouring iterations read the same, and how many of them together read it
    once, and come from memory side by side.

    Not one along which intermediates are read: these are computed in its iterations, so that they
    stay near.
    """
    if nest.recurrent or operations(nest.main.value) > ELEMENTWISE_COSTS.row_operations:
        return None
    count = ELEMENTWISE_COSTS.rows_together
    computed = [a for a in nest.accesses[1:] if a.tensor in builder.kernel.temporaries]
    others = [
        n
        for n in nest.spatial
        if n is not vector and constant_extent(n) >= count and all(a.stride(n.var) == 0 for a in computed)
    ]
    best = max(others, key=lambda n: nest.shared(n, count), default=None)
    if best is None or nest.shared(best, count) == 0:
        return None
    if 2 * nest.reads(best, count) <= count * nest.reads(best, 1):
        return best, count
    by_rows = operations(nest.main.value) > COSTS.fetch_operations or _is_best_by_rows(builder, nest, best)
    return None if by_rows else (best, 2)


def _is_best_by_rows(builder: ScheduleBuilder, nest: Nest, rows: For) -> bool:
    """True if light elements are computed fastest a row after the other: where what rows have in
    common stays in the first cache, it comes for nothing; and past the caches, one row at a time is
    written fastest.
    """
    common = sum(bytes_of(a.tensor) for a in nest.accesses[1:] if a.stride(rows.var) == 0)
    return ELEMENTWISE_COSTS.common_rows_l1_fraction * common <= next(
        iter(builder.machine.caches), 0
    ) or nest.main.tensor.name in past_caches(builder)


def waits_by_halves(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if cheap elements, which are load-bound, are computed fastest by halves of registers:
    unless whole lines of them are written past the caches.
    """
    far = 0 < builder.machine.half_vector_threshold_bytes < _used(builder)
    return far and builder.vector_lanes(nest) > 1 and nest.main.tensor.name not in past_caches(builder)


def _used(builder: ScheduleBuilder) -> int:
    """Bytes of inputs and outputs."""
    return sum(bytes_of(t) for t in (*builder.kernel.inputs, *builder.kernel.outputs))


def _is_in_lines(tensor: Tensor) -> bool:
    row = row_length(tensor)
    return row is not None and row * tensor.dtype.bytes % LINE == 0


def _arithmetic(builder: ScheduleBuilder) -> int:
    """Operations of a run of the kernel, without those that are the same for all iterations of
    an innermost loop.
    """
    total = 0
    for above, s in paths(builder.kernel):
        loops = [n for n in above if isinstance(n, For)]
        if isinstance(s, Store) and loops:
            total += iterations(above) * operations(s.value, along=loops[-1].var)
    return total
