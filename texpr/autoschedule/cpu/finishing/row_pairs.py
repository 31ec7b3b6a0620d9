"""Rows in pairs: what one row waits for is hidden behind the work of the other.

    for i: { m[i] = sum(j: ..); Y[i, ..] }   ->   for io: { for ii in 0..2: m[..] = sum(j: ..); for row in 0..2: Y[..] }

A sum across the lanes of a register is a chain of instructions that wait for each other, and all
that follows in the row waits for it. With two rows it is over while the other row is summed. Where
the elements of the last nest have operands in common with the other row (scale and shift of a
normalization), both rows are computed side by side, so that these are loaded once; but not if the
rows come from memory: they are asked for a row early (`prefetch`), while one is written.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import constant_extent
from texpr.autoschedule.core.template import NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.finishing.finishing_costs import FINISHING_COSTS
from texpr.autoschedule.cpu.finishing.prefetch import row_from_afar
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Stmt, Store
from texpr.ir.loop_kind import Vector
from texpr.ir.traverse import variables, walk
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import bytes_of

ROW = "row"
"""The loop over both rows behind the cut."""


class RowPairs:
    """Outermost loops over rows, each of which is summed across lanes: two rows an iteration,
    where the first cache holds both.
    """

    name, stage = "RowPairs", Stage.FINISHING

    def match(self, builder: ScheduleBuilder, loop: For) -> For | NoMatch:
        """The loop, if its rows are such."""
        if (
            not builder.machine.caches
            or constant_extent(loop) < FINISHING_COSTS.paired_rows * builder.machine.cores
        ):
            return NoMatch("few rows")
        if not _fits(loop, builder.machine.caches[0]):
            return NoMatch("the first cache does not hold two rows")
        equations = [_equation(s) for s in loop.body]
        sums = [k for k, s in enumerate(loop.body) if _is_sum(s)]
        return (
            NoMatch("no sum across lanes is used in its row")
            if not sums or equations[-1] == equations[sums[0]]
            else loop
        )

    def apply(self, builder: ScheduleBuilder, match: For) -> Scheduled | None:
        """The steps, or None where nothing is gained."""
        loops = _in_pairs(builder, match)
        return None if loops is None else Scheduled(loops)


def _in_pairs(builder: ScheduleBuilder, loop: For) -> list[LoopHandle] | None:
    """Cut before elements that have operands in common, or behind the first sum; the new loop, None
    if nothing is gained.
    """
    equations = [_equation(s) for s in loop.body]
    sums = [k for k, s in enumerate(loop.body) if _is_sum(s)]
    beside = _have_operands_in_common(loop, [s for s, e in zip(loop.body, equations) if e == equations[-1]])
    if beside and any(row_from_afar(builder, t) for t in builder.kernel.inputs if _is_read_by_row(loop, t)):
        return None
    before = (
        equations.index(equations[-1])
        if beside
        else equations.index(next(e for e in equations[sums[0] :] if e != equations[sums[0]]))
    )
    blocks, row = builder.split_if_longer(loop, 2)
    if blocks is None:
        return None
    builder.apply("fission", row, stores(loop.body[before - 1])[-1].tensor, name=ROW)
    return [blocks] if not beside or _side_by_side(builder, loop) else None


def _side_by_side(builder: ScheduleBuilder, loop: For) -> bool:
    """Walk along both rows at once; whether that was possible."""
    row = handle(loop).named(ROW)
    builder.try_apply("fission", row)
    columns = next((n for n in builder.loop(row).body if isinstance(n, For)), None)
    return (
        columns is not None
        and builder.try_apply("reorder", columns, row)
        and builder.try_apply("unroll", row)
    )


def _is_read_by_row(loop: For, tensor: Tensor) -> bool:
    """True if an iteration reads one row of a tensor."""
    return any(
        isinstance(n, Read) and n.tensor is tensor and n.indices[:1] == (loop.var,) for n in walk(loop)
    )


def _equation(stmt: Stmt) -> int:
    return next(s.equation for s in stores(stmt))


def _is_sum(stmt: Stmt) -> bool:
    """True if lanes are added, or compared, across: a vector loop updates an element that does not
    move with it.
    """
    match stmt:
        case For(var, _, (Store(update=update) as s,), Vector()) if update is not None:
            return var not in variables(*s.indices)
    return False


def _have_operands_in_common(loop: For, nests: list[Stmt]) -> bool:
    """True if elements that are computed without sums read vectors that are the same in every row,
    and little else is done.
    """
    common = False
    for n in walk(*nests):
        match n:
            case Store(update=update) if update is not None:
                return False
            case For(var, _, (Store() as s,), Vector()):
                read = [variables(*r.indices) for r in walk(s.value) if isinstance(r, Read)]
                common |= any(var in found and loop.var not in found for found in read)
                if operations(s.value, along=var) > COSTS.fetch_operations:
                    return False
    return common


def _fits(loop: For, cache: int) -> bool:
    """True if seven eighths of a cache hold all that two rows use: tensors whose first index is the
    row, and others as a whole.
    """
    rows: dict[Tensor, bool] = {}
    for n in walk(loop):
        if isinstance(n, Read | Store):
            first = n.indices[:1] == (loop.var,)
            if loop.var in variables(*n.indices[first:]):
                return False
            rows[n.tensor] = first
    return (
        sum(2 * bytes_of(t, t.shape[1:]) if first else bytes_of(t) for t, first in rows.items())
        <= cache - cache // 8
    )
