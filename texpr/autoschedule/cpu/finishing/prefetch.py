"""Software prefetch of the next row while functions of the last row are computed.

Of nests that are joined by row the first one waits for memory, and the others for arithmetic:
hardware foresees lines while it misses some, not while it computes from the first cache. So one of
the others asks for the next row: the one that computes most of each element, or the last one. A
nest that stands alone asks for its next vectors: while it computes some, no more loads fit into the
window of instructions that are under way.
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.nest import extent
from texpr.autoschedule.cpu.finishing.finishing_costs import FINISHING_COSTS
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor, Var
from texpr.ir.loop import For, Store
from texpr.ir.loop_kind import Vector
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.schedule.structure.loops import all_loops, stores
from texpr.schedule.structure.tensors import bytes_of


def insert_prefetch(builder: ScheduleBuilder) -> None:
    """Prefetch inputs in the loops of expensive elements: rows that several nests read one row
    early, else some vectors.
    """
    caches = builder.machine.caches[:2]
    far = [t for t in builder.kernel.inputs if caches and bytes_of(t) > caches[-1]]
    alone = [t for t in far if len(_readers(builder, t)) == 1]
    for loop in all_loops(builder.kernel) if alone else ():
        for tensor in alone:
            vector = _vector(loop, tensor)
            if vector and extent(loop) >= FINISHING_COSTS.prefetch_distances * -(
                -FINISHING_COSTS.prefetch_bytes // vector
            ):
                builder.try_apply("prefetch", tensor, loop, -(-FINISHING_COSTS.prefetch_bytes // vector))
    rows = [n for n in all_loops(builder.kernel) if len(n.body) > 1]
    for tensor in far:
        any(_ask_for_row(builder, row, tensor) for row in rows)


def _ask_for_row(builder: ScheduleBuilder, row: For, tensor: Tensor) -> bool:
    """Prefetch a row of a tensor one iteration early; whether one was."""
    nests = list(_nests_of_row(row, tensor, row.var))
    several = (
        sum(extent(n) != 1 for n in nests) > 1
    )  # and not one whose first elements have a loop of their own
    last = nests[-1] if several and row_from_afar(builder, tensor) else None
    at = next((n for n in nests[1:] if _is_busy(n, tensor)), last)
    room = builder.machine.caches[:2][-1] >= FINISHING_COSTS.prefetch_l2_fraction * bytes_of(
        tensor, tensor.shape[1:]
    )
    return at is not None and room and builder.try_apply("prefetch", tensor, row, 1, at=at)


def row_from_afar(builder: ScheduleBuilder, tensor: Tensor) -> bool:
    """True if rows of a tensor come from beyond the second cache, each so many lines that a nest
    has time to ask for the next one.
    """
    caches = builder.machine.caches[:2]
    return (
        bool(caches)
        and bytes_of(tensor) > caches[-1]
        and bytes_of(tensor, tensor.shape[1:]) >= FINISHING_COSTS.prefetch_row_bytes
    )


def _readers(builder: ScheduleBuilder, tensor: Tensor) -> set[int]:
    """The equations that read a tensor, or copy from it."""
    return {
        s.equation
        for s in stores(builder.kernel)
        if any(isinstance(n, Read) and n.tensor is tensor for n in walk(s))
    }


def _vector(loop: For, tensor: Tensor) -> int:
    """Of a loop over vectors of expensive elements alone, the bytes that one takes of a tensor
    which it walks along; 0 of others.
    """
    match loop.body:
        case (For(var, count, (Store(update=None) as s,), Vector()),) if (
            operations(s.value, along=var) >= COSTS.function
        ):
            lanes = integer(count) or 0
            reads = [
                flat_index(tensor, n.indices)
                for n in walk(s.value)
                if isinstance(n, Read) and n.tensor is tensor
            ]
            runs = reads and all(r.coefficient(var) == 1 and r.coefficient(loop.var) == lanes for r in reads)
            return lanes * tensor.dtype.bytes if runs else 0
    return 0


def _nests_of_row(around: For, tensor: Tensor, row: Var) -> Iterator[For]:
    """The nests that read what the first index of a tensor gives for an iteration of a loop;
    inside of loops over a pair of rows too.
    """
    for nest in around.body:
        if isinstance(nest, For):
            firsts = [
                n.indices[0] for n in walk(nest) if isinstance(n, Read) and n.tensor is tensor and n.indices
            ]
            if any(linear(i).coefficient(row) for i in firsts):
                over_rows = any(nest.var in variables(i) for i in firsts)
                yield from _nests_of_row(nest, tensor, row) if over_rows else (nest,)


def _is_busy(nest: For, tensor: Tensor) -> bool:
    """True if computing with an element of the tensor takes longer than fetching it."""
    inner = [n for n in walk(nest) if isinstance(n, For) and any(isinstance(s, Store) for s in n.body)]
    return any(
        operations(s.value, along=n.var) >= COSTS.function
        for n in inner
        for s in n.body
        if isinstance(s, Store) and any(isinstance(r, Read) and r.tensor is tensor for r in walk(s.value))
    )
